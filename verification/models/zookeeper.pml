/*
 * ZooKeeper's queue (lock-zookeeper, QueueProtocol) with the proof that a new node is the lowest (LowestNodeProof). See
 * docs/protocols/zookeeper.md.
 *
 * A creation and the listing behind it are one step, as the ensemble orders them; what lies between two clients' steps is free.
 * Requests of one session are carried out in their order; one that is late is of a connection that was given up. A client has one
 * session; its end ends the client's part. The ensemble removes an empty container at any time, and its sequence starts again.
 *
 * run: three contenders, one fault | -DFAULTS=1 -DSTAGED
 * run: two contenders, two faults | -DFAULTS=2 -DCONTENDERS=2
 * run: three contenders, two rounds, no fault: the proof | -DFAULTS=0 -DROUNDS=2 -DNO_RENEWALS -DSTAGED
 * mutant: NO_DISTANCE S1 -DFAULTS=0 -DROUNDS=2
 * mutant: MIDDLE_IS_FIRST S1 -DFAULTS=1
 * mutant: READ_RENEWS S1 -DFAULTS=0 -DL=2 -DCONTENDERS=2
 * mutant: LATE_NODE_STAYS LEFT -DFAULTS=1 -DCONTENDERS=2
 * mutant: WATCHES_NOBODY WAKE -DFAULTS=0 -DCONTENDERS=2
 * mutant: SEQUENCE_IS_TOKEN S2 -DFAULTS=0 -DROUNDS=2 -DCONTENDERS=2
 */
#define ID(i) i
#define IN_ORDER true
#define WRITES false
#define CRASH_TELLS true
#include "state.pml"

byte zxid, sequence;              /* of the ensemble; of the container */
byte czxid[N], number[N];         /* of a client's node; 0: it has none. Numbers are one more than ZooKeeper's */
byte life[N];                     /* what is left of the session on the servers */
byte formerNumber, formerCzxid;   /* client 0's node that was the lowest when it held, and was deleted */
bool swept;                       /* the container has been removed once */
hidden byte proved;
bool middle[N];                   /* the node before ours is gone, and was not the first */

#define session_lives (life[who] > 0)
#define session_over (life[who] == 0)
#define node_none (czxid[who] == 0)
#define node_mine (czxid[who] != 0)
#define before(c) (c != who && czxid[c] != 0 && (czxid[who] == 0 || number[c] < number[who]))
#ifdef MUTANT_MIDDLE_IS_FIRST
#define takes (node_mine && middle[who])
#else
#define takes false
#endif
#define place_first ((!before(0) && !before(1) && !before(2)) || proved || takes)
#define place_behind (!(place_first))
#define to_node_made zxid++; sequence++; czxid[who] = zxid; number[who] = sequence
#define to_node_gone delete(who)
#ifdef MUTANT_READ_RENEWS
#define to_session_heard life[who] = (ev == renew -> life[who] : L)
#else
#define to_session_heard life[who] = L
#endif

#define isNext(j, c) (czxid[j] != 0 && number[j] > number[c] && !(other(j, c, 0)) && !(other(j, c, 1)) && !(other(j, c, 2)))
#define other(j, c, k) (k != j && k != c && czxid[k] != 0 && number[k] > number[c] && number[k] < number[j])
#define isFirst(c) (!(czxid[0] != 0 && number[0] < number[c]) && !(czxid[1] != 0 && number[1] < number[c]) && !(czxid[2] != 0 && number[2] < number[c]))
inline delete(c)
{
  if
  :: czxid[c] != 0 ->
       zxid++;
#ifndef MUTANT_WATCHES_NOBODY
       if
       :: isNext(0, c) -> called[0] = (pc[0] != dead); middle[0] = !isFirst(c)
       :: isNext(1, c) -> called[1] = (pc[1] != dead); middle[1] = !isFirst(c)
       :: isNext(2, c) -> called[2] = (pc[2] != dead); middle[2] = !isFirst(c)
       :: else
       fi;
#endif
       if :: c == 0 && isFirst(0) -> formerNumber = number[0]; formerCzxid = czxid[0] :: else fi;
       czxid[c] = 0; number[c] = 0
  :: else
  fi
}

/* The creation's answer alone, where the last holder was of this session: the node is the next creation after the former one. */
#ifdef MUTANT_NO_DISTANCE
#define near true
#else
#define near (zxid + 1 - formerCzxid < formerNumber)
#endif
#include "zookeeper.steps.pml"

inline serve(event, id)
{
  ev = event; who = id;
  proved = (who == 0 && ev == attempt && czxid[0] == 0 && formerNumber != 0 && sequence + 1 == formerNumber + 1 && near);
#ifndef MUTANT_LATE_NODE_STAYS
  /* After an end without a certain answer the owner's nodes are looked for once more: a late creation is deleted again. */
  if :: ev == attempt && (pc[who] == ended || pc[who] == ending) -> ev = abandon :: else fi;
#endif
  step();
  proved = false; middle[who] = false;
#ifdef MUTANT_SEQUENCE_IS_TOKEN
  tok = number[who]
#else
  tok = czxid[who]
#endif
}

/* A client that waits, or has ended, keeps its session by pings. */
#define runs(i) (life[i] > 0 && pc[i] != waiting && pc[i] != idle && pc[i] != ended)
inline expire(i)
{
  if :: runs(i) -> life[i]--; if :: life[i] == 0 -> delete(i) :: else fi :: else fi
}
#define storeCounts (runs(0) || runs(1) || runs(2))
inline storeTick()
{
  expire(0); expire(1); expire(2)
}
#define OTHER_EVENTS \
  :: d_step { !swept && czxid[0] == 0 && czxid[1] == 0 && czxid[2] == 0 && sequence > 0 -> swept = true; sequence = 0 }
#define BEGIN life[0] = L; life[1] = L; life[2] = L; if :: sequence = 0 :: sequence = 3; zxid = 3 fi
#define free(i) false
#define nothingLeft (czxid[0] == 0 && czxid[1] == 0 && czxid[2] == 0)
inline died(i) { skip }

#include "clients.pml"
