/*
 * A lock on one Redis (lock-redis, RedisScript): the state with its lease, the queue and the hand-over. See docs/protocols/redis.md.
 * What a script does is made from redis.table. A restart that keeps the data loses what was under way, and the calls.
 *
 * run: three contenders, no fault | -DFAULTS=0
 * long run: three contenders, nobody may be passed, one fault | -DFAULTS=1 -DFAIR -DNO_RENEWALS -DSTAGED -DIN_ORDER=true
 * run: two contenders, one fault, renewals | -DFAULTS=1 -DCONTENDERS=2
 * run: two contenders, two faults hit the second | -DFAULTS=2 -DCONTENDERS=2 -DVICTIM=1 -DNO_RENEWALS
 * long run: two contenders, two rounds, one fault, the state is forgotten | -DFAULTS=1 -DCONTENDERS=2 -DROUNDS=2 -DNO_RENEWALS -DFORGETS
 * run: three contenders, the second listens at a replica, no fault | -DFAULTS=0 -DAWAY=1
 * mutant: GRANTS_WHILE_HELD S1
 * mutant: DEADLINE_FROM_REPLY S1
 * mutant: RENEWS_WHAT_IS_GONE S1 -DFAULTS=0
 * mutant: TOKEN_WITHOUT_CLOCK S2 -DFAULTS=0 -DCONTENDERS=2 -DROUNDS=2 -DFORGETS
 * mutant: CALLS_NOBODY WAKE -DFAULTS=0 -DCONTENDERS=2
 * mutant: GRANT_FORGETS_WAITERS WAKE -DFAULTS=0
 * long mutant: ABANDON_CALLS_NOBODY WAKE -DFAULTS=1 -DVICTIM=1
 * mutant: MESSAGE_SETS_THE_CLOCK S1 -DFAULTS=0 -DNO_RENEWALS
 * mutant: NUMBER_NOT_COMPARED S2 -DFAULTS=1 -DNO_RENEWALS
 * mutant: CALL_IS_FOR_EVER LEFT -DFAULTS=1 -DVICTIM=1
 * mutant: COUNTED_BY_THE_MESSAGE S2 -DFAULTS=0 -DAWAY=1 -DNO_RENEWALS
 */
#define ID(i) (1 + i + (second[i] -> N : 0))
#define CLIENT(id) ((id - 1) % N)
#define CRASH_TELLS false
#ifndef AWAY
#define AWAY 255 /* the client that listens at a replica: it hears what is sent, and is not counted. It has its polls */
#endif
#define MAY_POLL (ranOut || AWAY < N)
#define HANDS_OVER
#include "state.pml"

#define IDS (N + 2)
#define NOBODY 0
byte owner, token, left, clock; /* the state; its token stays when the owner goes */
bool waiting_;                  /* the state says that there may be somebody in the queue */
byte place[IDS], ticket[IDS];   /* arrival; 0: not in the queue. The client knows it and brings it along */
byte life[IDS];                 /* what is left of the entry's deadline */
bool wasCalled[IDS];            /* the deadline is that of a call */
bool young[IDS];                /* in the queue for less than the time in which it may be passed */
bool told[IDS];                 /* its release was carried out */
byte arrivals;
hidden byte head, k, heir;
mtype = { first_, passes_, behind_, heir_ };
hidden mtype line;
bool wasPolled, forgotten;
bool ranOut; /* a lease has ended by itself: nobody is called then, and waiters poll when the lease is over that they were told of */

#ifdef MUTANT_GRANTS_WHILE_HELD
#define held (owner != NOBODY && left > 1)
#else
#define held (owner != NOBODY && left > 0)
#endif
#define lock_mine (held && owner == who)
#define lock_taken (held && owner != who)
#define lock_free (!held)
#define line_first (line == first_)
#define line_passes (line == passes_)
#define line_behind (line == behind_)
#define line_heir (line == heir_)
#define told_yes (told[who])
#define told_no (!told[who])

#define to_lock_mine owner = who; left = L
#define to_lock_taken owner = heir; left = L; told[who] = (ev == release || told[who])
#define to_lock_free owner = NOBODY; left = 0; told[who] = (ev == release || told[who])
#ifdef MUTANT_TOKEN_WITHOUT_CLOCK
#define to_token_next token++
#else
#define to_token_next clock++; token = (token >= clock -> token + 1 : clock); clock = token
#endif
#define to_place_out place[who] = 0; ticket[who] = 0; life[who] = 0; wasCalled[who] = false; young[who] = false
#define to_place_in \
  if :: place[who] == 0 -> if :: ticket[who] == 0 -> arrivals++; ticket[who] = arrivals; young[who] = true :: else fi; place[who] = ticket[who] :: else fi; \
  waiting_ = true; wasCalled[who] = false; life[who] = 2
#define to_next_called skip /* below, when the lock's new state is known */
/* The message counts for the attempt that the server has seen last. If that is not the client's latest one, it is a call only. */
#define to_next_handed \
  if :: ID(CLIENT(heir)) == heir && seen[CLIENT(heir)] -> handed[CLIENT(heir)] = true; gotTok[CLIENT(heir)] = token \
     :: ID(CLIENT(heir)) == heir && !seen[CLIENT(heir)] -> called[CLIENT(heir)] = true \
     :: else fi; \
  leave(heir)

#include "redis.steps.pml"

inline leave(id)
{
  place[id] = 0; life[id] = 0; wasCalled[id] = false; young[id] = false
}

inline findHead()
{
  head = 0; k = 1;
  do
  :: k < IDS -> if :: place[k] != 0 && (head == 0 || place[k] < place[head]) -> head = k :: else fi; k++
  :: else -> break
  od;
  k = 0
}

#define heardBy(id) (pc[CLIENT(id)] != dead && CLIENT(id) != AWAY) /* the process is subscribed, whatever it does, and counted */
inline passOver(id, heard) /* nobody was counted; whether the call has gone out */
{
  if :: ID(CLIENT(id)) == id && pc[CLIENT(id)] != dead -> called[CLIENT(id)] = called[CLIENT(id)] || heard; polled[CLIENT(id)] = false :: else fi;
  leave(id)
}
inline publish(id)
{
  if :: ID(CLIENT(id)) == id && pc[CLIENT(id)] != dead -> called[CLIENT(id)] = true :: else fi;
  if :: !wasCalled[id] -> wasCalled[id] = true; life[id] = 1 :: else fi
}

/* The lock is free: whoever is first is called, and those whose processes are gone leave. A release calls once more. */
inline callFirst(again_)
{
  do
  :: findHead();
     if
     :: head == 0 -> waiting_ = false; break
     :: head != 0 && wasCalled[head] && !again_ -> break
     :: head != 0 && !(wasCalled[head] && !again_) && heardBy(head) -> publish(head); break
     :: else -> passOver(head, true)
     fi
  od
}

#ifdef FAIR
#define mayPass(id) false
#else
#define mayPass(id) young[id]
#endif
/* Where the asking acquisition stands, if the lock is free. */
inline look()
{
  line = first_;
  if
#ifndef MUTANT_CALLS_NOBODY
  :: (ev == release || ev == abandon) && held && owner == who && waiting_ ->
       leave(who);
       do
       :: findHead();
          if
          :: head == 0 -> waiting_ = false; break
          :: head != 0 && heardBy(head) -> heir = head; line = heir_; break
          :: else ->
#ifdef MUTANT_COUNTED_BY_THE_MESSAGE
               if :: ID(CLIENT(head)) == head && pc[CLIENT(head)] != dead && seen[CLIENT(head)] -> handed[CLIENT(head)] = true; gotTok[CLIENT(head)] = token + 1
                  :: else fi;
#endif
               passOver(head, false)
          fi
       od
#endif
  :: ev == attempt && !held && waiting_ ->
       do
       :: findHead();
          if
          :: head == 0 -> waiting_ = false; break
          :: head == who -> break
          :: head != 0 && head != who && mayPass(head) -> line = passes_; break
          :: head != 0 && head != who && !mayPass(head) && (wasCalled[head] || heardBy(head)) ->
               line = behind_; if :: !wasCalled[head] -> publish(head) :: else fi; break
          :: else -> passOver(head, true)
          fi
       od
  :: else
  fi
}

inline serve(event, id)
{
  ev = event; who = id;
  look();
#ifdef MUTANT_RENEWS_WHAT_IS_GONE
  if :: ev == renew -> owner = who; left = L; answer = renewed :: else -> step() fi;
#else
  step();
#endif
#ifdef MUTANT_GRANT_FORGETS_WAITERS
  if :: answer == granted -> waiting_ = false :: else fi;
#endif
  if
#ifdef MUTANT_CALLS_NOBODY
  :: false
#elif defined(MUTANT_ABANDON_CALLS_NOBODY)
  :: ev == release && !held && waiting_ -> callFirst(true)
#else
  :: (ev == release || ev == abandon) && !held && waiting_ -> callFirst(true)
#endif
  :: else
  fi;
  tok = token; line = 0; head = 0; heir = 0
}

/* A live waiter's entry is kept by its polls, unless it was called: then it has to come. */
#ifdef MUTANT_CALL_IS_FOR_EVER
#define entryRuns(id) (place[id] != 0 && !wasCalled[id] && !keeps(id))
#else
#define entryRuns(id) (place[id] != 0 && (wasCalled[id] || !keeps(id)))
#endif
#define keeps(id) (ID(CLIENT(id)) == id && (pc[CLIENT(id)] == waiting || pc[CLIENT(id)] == asking || pc[CLIENT(id)] == ending))
inline run_(id)
{
  young[id] = false;
  if :: entryRuns(id) -> life[id]--; if :: life[id] == 0 -> leave(id) :: else fi :: else fi
}
#define storeCounts (left > 0 || entryRuns(1) || entryRuns(2) || entryRuns(3) || entryRuns(4))
inline storeTick()
{
  if :: left > 0 -> left--; if :: left == 0 && owner != NOBODY -> ranOut = true :: else fi :: else fi;
  run_(1); run_(2); run_(3); run_(4)
}
#define inQueue(id) (place[id] != 0)
#ifdef FORGETS
#define mayForget true
#else
#define mayForget false
#endif
#define OTHER_EVENTS \
  :: d_step { !forgotten && mayForget && !held && token > 0 && !inQueue(1) && !inQueue(2) && !inQueue(3) && !inQueue(4) -> \
       forgotten = true; owner = NOBODY; token = 0; waiting_ = false } \
  :: d_step { pc[1] == waiting && !wasPolled -> wasPolled = true; called[1] = true }
#define free(i) false
#define nothingLeft ((owner == NOBODY || left == 0) && !inQueue(1) && !inQueue(2) && !inQueue(3) && !inQueue(4))
inline died(i)
{
  if :: called[i] || handed[i] -> disturbed = true :: else fi /* it was called, and nobody else is before that has lasted too long */
}

#include "clients.pml"
