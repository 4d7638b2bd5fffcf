! Allocates by the Fortran interface in the partition "near", writes to the neighbour, and says what it found.
program words
    use, intrinsic :: iso_c_binding
    use shmem_partition
    implicit none

    interface
        subroutine shmem_init() bind(c)
        end subroutine
        subroutine shmem_finalize() bind(c)
        end subroutine
        subroutine shmem_barrier_all() bind(c)
        end subroutine
        function shmem_my_pe() bind(c)
            import :: c_int
            integer(c_int) :: shmem_my_pe
        end function
        function shmem_n_pes() bind(c)
            import :: c_int
            integer(c_int) :: shmem_n_pes
        end function
        subroutine shmem_putmem(target, source, bytes, pe) bind(c)
            import :: c_ptr, c_size_t, c_int
            type(c_ptr), value :: target, source
            integer(c_size_t), value :: bytes
            integer(c_int), value :: pe
        end subroutine
    end interface

    integer(c_int), parameter :: number = 1000
    integer(c_int), target :: mine(number)
    integer(c_int), pointer :: words_of_left(:)
    integer(c_int) :: id, me, pes
    type(c_ptr) :: memory
    character(kind=c_char, len=4), target :: own = "own"//c_null_char
    character(kind=c_char, len=9), target :: small = "size=64K"//c_null_char

    if (shmem_partition_define(0, own, small) /= 0 .or. .not. c_associated(shmem_partition_error())) stop 1
    call shmem_init()
    me = shmem_my_pe()
    pes = shmem_n_pes()
    id = shmem_partition_id("near"//c_null_char)
    memory = shmem_partition_align(4096_c_size_t, int(4 * number, c_size_t), id)
    call c_f_pointer(memory, words_of_left, [number])
    mine = me + 10
    call shmem_putmem(memory, c_loc(mine), int(4 * number, c_size_t), mod(me + 1, pes))
    call shmem_barrier_all()
    print '(a,i0,a,i0,a,i0,a,i0)', 'PE ', me, ': partition ', shmem_partition_of(memory), ' of ', &
        shmem_partition_count(), ', sum ', sum(words_of_left)
    call shmem_partition_free(memory)
    memory = shmem_partition_malloc(65536_c_size_t, shmem_partition_id(own))
    if (shmem_partition_release(memory) /= 0 .or. .not. c_associated(memory)) stop 2
    call shmem_finalize()
end program words
