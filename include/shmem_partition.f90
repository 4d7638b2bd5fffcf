! Symmetric memory partitions for OpenSHMEM, from Fortran: the functions of shmem_partition.h that programs need.
!
! Compile this file with the program's own compiler, and link as C programs do (pkg-config --libs shmem_partition).
! What they do is said in shmem_partition_malloc(3) and its neighbours.  Strings end in c_null_char.
module shmem_partition
    use, intrinsic :: iso_c_binding, only: c_int, c_size_t, c_ptr, c_char
    implicit none
    public

    interface
        function shmem_partition_malloc(bytes, partition_id) bind(c)
            import :: c_ptr, c_size_t, c_int
            integer(c_size_t), value :: bytes
            integer(c_int), value :: partition_id
            type(c_ptr) :: shmem_partition_malloc
        end function

        function shmem_partition_align(alignment, bytes, partition_id) bind(c)
            import :: c_ptr, c_size_t, c_int
            integer(c_size_t), value :: alignment, bytes
            integer(c_int), value :: partition_id
            type(c_ptr) :: shmem_partition_align
        end function

        function shmem_partition_calloc(number, bytes, partition_id) bind(c)
            import :: c_ptr, c_size_t, c_int
            integer(c_size_t), value :: number, bytes
            integer(c_int), value :: partition_id
            type(c_ptr) :: shmem_partition_calloc
        end function

        function shmem_partition_realloc(pointer, bytes) bind(c)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: pointer
            integer(c_size_t), value :: bytes
            type(c_ptr) :: shmem_partition_realloc
        end function

        ! Before shmem_init.  A name or a definition stays where it is until then.
        function shmem_partition_define(id, name, definition) bind(c)
            import :: c_int, c_char
            integer(c_int), value :: id
            character(kind=c_char), intent(in), target :: name(*), definition(*)
            integer(c_int) :: shmem_partition_define
        end function

        ! The text of what failed last, which ends in c_null_char.
        function shmem_partition_error() bind(c)
            import :: c_ptr
            type(c_ptr) :: shmem_partition_error
        end function

        function shmem_partition_release(pointer) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: pointer
            integer(c_int) :: shmem_partition_release
        end function

        subroutine shmem_partition_free(pointer) bind(c)
            import :: c_ptr
            type(c_ptr), value :: pointer
        end subroutine

        function shmem_partition_id(name) bind(c)
            import :: c_int, c_char
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: shmem_partition_id
        end function

        function shmem_partition_of(pointer) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: pointer
            integer(c_int) :: shmem_partition_of
        end function

        function shmem_partition_count() bind(c)
            import :: c_int
            integer(c_int) :: shmem_partition_count
        end function

        function shmem_partition_id_at(place) bind(c)
            import :: c_int
            integer(c_int), value :: place
            integer(c_int) :: shmem_partition_id_at
        end function
    end interface
end module shmem_partition
