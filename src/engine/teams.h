/* Teams as the engine layer sees them: who is in one, and the symmetric words through which its members meet. */
#ifndef SHMEM_PARTITION_ENGINE_TEAMS_H
#define SHMEM_PARTITION_ENGINE_TEAMS_H

#include "has.h"

#include "engine.h"

enum {
    TEAM_LIMIT = 256,   /* alive at once on one PE, the predefined ones included */
    TEAM_ROUNDS = 31,   /* of a dissemination: 2^31 members */
    TEAM_WORDS = 8,
    COLLECT_WORD = 6,   /* and the next: how much a member brings to a collect */
    TEAM_MASK_WORDS = TEAM_LIMIT / 64,
    NEAR_MEMBERS = 8,   /* of a team that reduces a few bytes in shared memory; see near.c */
    CACHE_LINE = 64
};

/* A collective call as its arguments should be on all members; see symmetry.c. */
struct call {
    uint64_t number, kind, arguments[CALL_ARGUMENTS];
};

/* Symmetric: what other members write, or read, of one team here. */
struct team_area {
    uint64_t arrived[TEAM_ROUNDS];
    uint64_t words[TEAM_WORDS]; /* written by this PE, read by the others */
    /* In a cache line of their own, which else would go to and fro with what this PE writes beside them. */
    _Alignas(CACHE_LINE) uint64_t announced[2]; /* by the member before this one */
    _Alignas(CACHE_LINE) struct call calls[2];  /* of this PE */
    uint64_t speaker; /* on PE 0: the PE that explains a common failure, plus one */
};

struct team {
    int size, me;
    int contexts;       /* as configured; a hint */
    int slot;           /* in the table of areas */
    uint64_t meetings;  /* how often its members have synchronised */
    uint64_t calls;     /* how many were announced */
    uint64_t announced; /* the digest of the last one */
    uint64_t collects;
    uint64_t *next;     /* where the next member looks for announcements, by loads and stores; NULL: not reachable so */
    uint64_t *told;     /* where the member before tells this one, if not in the area; see notices.c */
    struct team_area *further[TEAM_ROUNDS]; /* of the members that this one tells, by rounds; near.c */
    struct near_area *near[NEAR_MEMBERS]; /* of the members, by loads and stores; NULL: too many, or too far; near.c */
    uint64_t near_reductions;
    const int *members; /* numbers in the world, by number in the team */
#if ENGINE_HAS_TEAMS
    shmem_team_t native; /* SHMEM_TEAM_INVALID: the engine could not make this one */
#endif
};

struct team_area *team_area(const struct team *team);

/* The world, or a team that the engine has made itself: its own collectives serve it. */
bool team_is_world(const struct team *team);

/* All that members put is complete, and all have come. */
void team_barrier(struct team *team);

int teams_attach(struct message *message);
void teams_detach(void);

#endif
