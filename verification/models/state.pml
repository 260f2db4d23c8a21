/*
 * What all stores' models share: three contenders, the network, time, faults, and what is checked.
 *
 * A model defines before it: ID(i), the store's variables, and the macros of its table.
 * After it: serve(event, id), storeTick(), storeCounts, free(i), nothingLeft, died(i).
 *
 * Time is counted in ticks. A lease has L of them. A holder counts from when it sent its request, the store from when it
 * carried it out. A process that pauses is one that takes no step while time passes.
 */
#define N 3
#ifndef L
#define L 1
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef CONTENDERS
#define CONTENDERS N
#endif
#ifndef ROUNDS
#define ROUNDS 1 /* of client 0; the others have one */
#endif

/* Never set: they name the property in the text of a failed assertion. */
bool S1, S2, WAKE, LEFT, TABLE, LOSS;

mtype = { attempt, renew, release, abandon };
mtype = { granted, busy, renewed, lost, released, notheld, done, again };
mtype = { idle, asking, waiting, holding, releasing, ending, ended, dead };

mtype pc[N] = idle;
bool second[N];              /* the round */
byte valid[N];               /* how long the client may believe that it holds, by its own clock */
bool renewals[N];            /* whether it has renewed */
bool called[N];              /* a signal has come */
bool polled[N];
mtype rq[N];                 /* the request under way */
bool got[N];                 /* the answer under way: granted, with that token */
byte gotTok[N], age[N];      /* the age of that request */
mtype late[2]; byte lateId[2]; /* late and repeated requests, for whose answers nobody waits */
byte faults = FAULTS;
bool disturbed;              /* something but a death has gone wrong */
byte maxHeld;                /* the highest token of a holder so far */
/* Hidden: of the step that is taken, set before they are read, and no part of a state. */
hidden mtype ev, answer;
hidden byte who, tok;
/* What --trail prints; no part of a state. */
#define TOLD_STEP printf("  store: %e of client %d: %e\n", ev, who, answer)
byte write, writeNo, highest, highestNo, holders; /* client 0's write to a resource that checks tokens; it may be late */
