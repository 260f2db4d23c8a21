/*
 * A lock that belongs to a session of the database (lock-jdbc, strategy SESSION). See docs/protocols/session.md.
 *
 * Each contender has one session, and client 0 may acquire twice. The first in line has the turn, which is a lock too. Statements of a session
 * are carried out in their order; one whose client has left is carried out late, as long as the session lives. The server ends a session
 * that was silent for a lease, and may end any session, or all by a restart, which may take tokens back. READERS has a bit for each client
 * that reads; a reader that holds may be joined by another one of its client, on the same session, for which the server counts nothing.
 *
 * run: three contenders, no fault | -DFAULTS=0 -DSTAGED
 * run: three contenders, one fault, which hits the second | -DFAULTS=1 -DVICTIM=1 -DSTAGED -DNO_RENEWALS
 * run: two contenders, two faults | -DFAULTS=2 -DCONTENDERS=2
 * run: two contenders, two rounds, one fault | -DFAULTS=1 -DCONTENDERS=2 -DROUNDS=2
 * run: two readers, then a writer, no fault | -DFAULTS=0 -DREADERS=3 -DSTAGED -DNO_RENEWALS
 * run: a reader, a writer, a reader, no fault | -DFAULTS=0 -DREADERS=5 -DSTAGED -DNO_RENEWALS
 * run: a reader and a writer, one fault | -DFAULTS=1 -DREADERS=1 -DCONTENDERS=2
 * run: a writer and a reader, one fault | -DFAULTS=1 -DREADERS=2 -DCONTENDERS=2
 * mutant: IMPATIENT S1 -DFAULTS=1 -DL=2 -DCONTENDERS=2
 * mutant: DEADLINE_FROM_REPLY LOSS -DFAULTS=1 -DL=2 -DCONTENDERS=2
 * mutant: OTHER_SESSION_RENEWS S1
 * mutant: NO_SKIP S2
 * mutant: TURN_BETWEEN_STATEMENTS ORDER -DFAULTS=0
 * mutant: KEEPS_TURN LEFT -DFAULTS=0
 * mutant: TIME_OUT_KEEPS_SESSION LEFT
 * mutant: GIVES_UP_WITHOUT_RELEASE LEFT
 * mutant: READER_PASSES_TURN ORDER -DFAULTS=0 -DREADERS=5
 * mutant: JOINS_PAST_TURN ORDER -DFAULTS=0 -DREADERS=1 -DCONTENDERS=2
 * mutant: RELEASES_FOR_ALL S1 -DFAULTS=0 -DREADERS=1 -DCONTENDERS=2
 * mutant: READER_LEAVES_WITHOUT_RELEASE LEFT -DREADERS=2 -DCONTENDERS=2
 */
#define N 3
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef CONTENDERS
#define CONTENDERS N
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef L
#define L 1                 /* ticks of a lease */
#endif
#define LAG 1               /* tokens that a restart can take back */
#ifdef MUTANT_NO_SKIP
#define SKIP 0
#else
#define SKIP (LAG + 1)      /* tokens that a new session skips */
#endif
#ifdef MUTANT_IMPATIENT
#define PATIENCE (L - 1)
#else
#define PATIENCE L          /* ticks without a statement after which the server ends a session */
#endif

#ifdef VICTIM
#define HITS(i) (i == VICTIM) /* all faults hit one client */
#define RESTARTS false
#else
#define HITS(i) true
#define RESTARTS true
#endif

#ifndef READERS
#define READERS 0
#endif
#define READS(i) ((READERS >> (i)) & 1)
#define MAY_BE_JOINED(i) (READS(i) && (READERS & ((1 << (i)) - 1)) == 0) /* the first of them */

#ifdef STAGED
#define BEGUN(k) (pc[k] != idle && pc[k] != trying) /* each begins when the one before has had an answer */
#else
#define BEGUN(k) (pc[k] != idle)
#endif
#ifdef NO_RENEWALS
#define MAY_RENEW(i) false
#else
#define MAY_RENEW(i) (i < 2)
#endif

/* Never set: they name the property in the text of a failed assertion. */
bool S1, S2, ORDER, WAKE, LEFT, TABLE, LOSS;

mtype = { try, turn, lock, beat, unlock, giveup, read, join, readLock, endRead };
mtype = { granted, busy, first, alive, released, done, gone, over };
mtype = { idle, trying, inLine, firstInLine, confirming, holding, releasing, leaving, ended };

/* The server. */
byte owner, turnOf;          /* a session's number, or 0 */
byte readers;                /* a bit for each session that shares the lock */
bool twice;                  /* the owner has acquired the lock once more, and the server has counted it */
byte token;                  /* the last number */
bool lives[N];
byte silent[N];
bool killed[N];              /* the server has ended this session out of turn, and its client has had no answer since */
bool told[N];                /* the answer under way was given since */

/* The clients. */
mtype pc[N] = idle;
bool second;                 /* client 0's round */
mtype rq[N], ans[N];         /* the statement under way; its answer */
byte ansTok[N], age[N], valid[N];
byte tokenOf[N];             /* of a lock that is to be confirmed */
bool cut[N];                 /* no answer arrives any more */
bool renewed[N], sliced[N];
bool joined[N], mayJoin[N] = true; /* another reader has joined this client's; none has yet */
byte maxGranted, ahead;      /* the highest token granted; who was first in line, until it held or gave up: number, or 0 */
byte faults = FAULTS;
bool disturbed;
hidden mtype ev, answer;
hidden byte who;

#define me (who + 1)
#define session_lives lives[who]
#define session_over (!lives[who])
#define bit(i) (1 << (i))
#define lock_none (owner == 0 && readers == 0)
#define lock_alone (readers == bit(who))
#define lock_both ((readers & bit(who)) && readers != bit(who))
#define lock_read (readers != 0 && !(readers & bit(who)))
#define lock_me (owner == me)
#define lock_other (owner != 0 && owner != me)
#define turn_none (turnOf == 0)
#define turn_me (turnOf == me)
#define turn_other (turnOf != 0 && turnOf != me)
#define to_lock_me owner = me
#define to_lock_alone readers = readers | bit(who)
#define to_lock_both to_lock_alone
#ifdef MUTANT_READER_LEAVES_WITHOUT_RELEASE
#define to_lock_read if :: ev == giveup -> skip :: else -> readers = readers & ~bit(who) fi
#else
#define to_lock_read readers = readers & ~bit(who)
#endif
#define to_lock_none to_lock_read; if :: twice -> twice = false :: else -> owner = 0 fi
#define to_turn_me turnOf = me
#ifdef MUTANT_KEEPS_TURN
#define to_turn_none if :: ev == lock -> skip :: else -> turnOf = 0 fi
#else
#define to_turn_none turnOf = 0
#endif
#define to_token_next token++
#define TOLD_STEP printf("  server: %e of client %d: %e\n", ev, who, answer)
#include "session.steps.pml"

/* A statement that waits is carried out when its time has come. */
#define waiting(i) (rq[i] == turn || rq[i] == lock || rq[i] == readLock)
#define READY(i) (rq[i] != 0 && (!lives[i] || !waiting(i) || rq[i] == turn && turnOf == 0 || rq[i] == lock && owner == 0 && readers == 0 || rq[i] == readLock && owner == 0))
#define writes(i) (valid[i] > 0 && !READS(i))
#define reads(i) (valid[i] > 0 && READS(i))
#define two (writes(0) + writes(1) + writes(2) + (reads(0) || reads(1) || reads(2)) > 1)
#define mayBeTwo (valid[0] > 0 && killed[0] || valid[1] > 0 && killed[1] || valid[2] > 0 && killed[2])
#define fault() faults--; disturbed = true

inline carryOut(i)
{
  ev = rq[i]; who = i;
#ifdef MUTANT_KEEPS_TURN
  if :: ev == giveup && owner == i + 1 -> turnOf = 0 :: else fi;
#endif
#ifdef MUTANT_READER_PASSES_TURN
  if :: ev == read && lives[i] && owner == 0 -> ev = join; readers = readers | bit(i); answer = granted; token++ :: else -> step() fi;
#else
#ifdef MUTANT_JOINS_PAST_TURN
  if :: ev == join && lives[i] -> answer = granted; token++ :: else -> step() fi;
#else
  if :: ev == try && lives[i] && owner == i + 1 -> twice = true; answer = granted; token++ :: else -> step() fi;
#endif
#endif
#ifdef MUTANT_OTHER_SESSION_RENEWS
  if :: ev == beat -> answer = alive :: else fi;
#endif
  if :: lives[i] -> silent[i] = 0 :: else fi;
  told[i] = killed[i];
  if :: ev == turn && answer == first && ahead == 0 && !cut[i] -> ahead = i + 1 :: else fi;
  if :: answer == granted -> assert(token > maxGranted || S2); maxGranted = token :: else fi;
  if :: (ev == lock || ev == readLock) && answer == granted -> assert(ahead == 0 || ahead == i + 1 || ORDER); ahead = 0 :: else fi;
  if :: (ev == read || ev == join) && answer == granted -> assert(ahead == 0 || ahead == i + 1 || ORDER) :: else fi;
  rq[i] = 0;
  if :: cut[i] -> skip :: else -> ans[i] = answer; ansTok[i] = token fi
}

/* With a session all its locks end. */
inline endSession(i)
{
  if :: owner == i + 1 -> owner = 0; twice = false :: else fi;
  readers = readers & ~bit(i);
  if :: turnOf == i + 1 -> turnOf = 0 :: else fi;
  if :: ahead == i + 1 -> ahead = 0 :: else fi;
  lives[i] = false; silent[i] = 0
}

inline send(i, event)
{
  printf("client %d sends: %e\n", i, event);
  rq[i] = event; age[i] = 0
}

inline open(i)
{
  lives[i] = true; silent[i] = 0; killed[i] = false; cut[i] = false;
  token = token + SKIP
}

inline leave(i)
{
  valid[i] = 0; ans[i] = 0; age[i] = 0; tokenOf[i] = 0; renewed[i] = false; sliced[i] = false; joined[i] = false;
  if :: ahead == i + 1 -> ahead = 0 :: else fi;
  if
  :: i == 0 && ROUNDS == 2 && !second -> second = true; pc[i] = idle
  :: else -> pc[i] = ended
  fi
}

/* The client ends its connection; the server sees that, unless nothing arrives, and then after its patience. */
inline discard(i)
{
  if
  :: cut[i] -> skip
  :: else -> rq[i] = 0; if :: lives[i] -> endSession(i) :: else fi
  fi;
  leave(i)
}

inline believe(i, tok)
{
#ifdef MUTANT_DEADLINE_FROM_REPLY
  valid[i] = L;
#else
  valid[i] = L - age[i];
#endif
  printf("client %d holds, for %d, with token %d\n", i, valid[i], tok);
  assert(!two || mayBeTwo || S1)
}

inline hold(i, tok)
{
  if
  :: age[i] < L -> believe(i, tok); tokenOf[i] = tok; pc[i] = holding; age[i] = 0
  :: else -> pc[i] = leaving; send(i, giveup)
  fi
}

#ifdef MUTANT_RELEASES_FOR_ALL
#define END(i) (READS(i) && !mayJoin[i] -> giveup : (READS(i) -> endRead : unlock))
#else
#define END(i) (READS(i) -> endRead : unlock)
#endif
#define LOCK(i) (READS(i) -> readLock : lock)

inline hear(i)
{
  who = i; answer = ans[i]; ans[i] = 0;
  if :: told[i] -> killed[i] = false; told[i] = false :: else fi;
  if
  :: answer == gone -> assert(disturbed || valid[i] == 0 || LOSS); leave(i)
  :: answer == granted && pc[i] == trying -> hold(i, ansTok[i])
  :: answer == granted && pc[i] == firstInLine && age[i] < L -> hold(i, ansTok[i])
  :: answer == granted && pc[i] == firstInLine -> tokenOf[i] = ansTok[i]; pc[i] = confirming; send(i, beat)
  :: answer == granted && pc[i] == holding -> if :: valid[i] > 0 && age[i] < L -> joined[i] = true; believe(i, ansTok[i]) :: else fi; age[i] = 0
  :: answer == busy && pc[i] == holding -> age[i] = 0 /* who would join waits elsewhere */
  :: answer == busy && pc[i] != holding -> pc[i] = inLine; send(i, turn)
  :: answer == first -> pc[i] = firstInLine; send(i, LOCK(i))
  :: answer == over && pc[i] == inLine -> send(i, turn)
  :: answer == over && pc[i] == firstInLine -> send(i, LOCK(i))
  :: answer == alive && pc[i] == confirming -> hold(i, tokenOf[i])
  :: answer == alive && pc[i] == holding -> if :: valid[i] > 0 && L - age[i] > valid[i] -> believe(i, tokenOf[i]) :: else fi; age[i] = 0
  :: answer == released && joined[i] -> joined[i] = false; age[i] = 0 /* a mutant's: it has released for all */
  :: answer == released && !joined[i] || answer == done -> leave(i)
  fi;
  ansTok[i] = 0
}

#define waits(i) (waiting(i) && (pc[i] == inLine || pc[i] == firstInLine))
inline giveWaitUp(i)
{
  printf("client %d gives its wait up\n", i);
  rq[i] = 0; ans[i] = 0; ansTok[i] = 0;
  if :: ahead == i + 1 -> ahead = 0 :: else fi;
#ifdef MUTANT_GIVES_UP_WITHOUT_RELEASE
  leave(i)
#else
  pc[i] = leaving; send(i, giveup)
#endif
}

#define quiet(i) (rq[i] == 0 && ans[i] == 0)

proctype client(byte i)
{
end:
  do
  :: d_step { pc[i] == idle && (i == 0 || BEGUN(i - 1)) && rq[i] == 0 && !(lives[i] && cut[i]) -> if :: lives[i] -> skip :: else -> open(i) fi; pc[i] = trying; send(i, (READS(i) -> read : try)) }
  :: d_step { ans[i] != 0 -> hear(i) }
  :: d_step { pc[i] == holding && quiet(i) && valid[i] > 0 && !renewed[i] && MAY_RENEW(i) -> renewed[i] = true; send(i, beat) }
  :: d_step { MAY_BE_JOINED(i) && pc[i] == holding && quiet(i) && valid[i] > 0 && mayJoin[i] -> mayJoin[i] = false; send(i, join) }
  /* one of two readers ends, and the session keeps its lock for the other */
#ifdef MUTANT_RELEASES_FOR_ALL
  :: d_step { pc[i] == holding && quiet(i) && joined[i] -> send(i, endRead) }
#else
  :: d_step { pc[i] == holding && quiet(i) && joined[i] -> joined[i] = false; send(i, beat) }
#endif
  :: d_step { pc[i] == holding && quiet(i) && !joined[i] -> valid[i] = 0; pc[i] = releasing; send(i, END(i)) }
  /* a statement has had no answer for a lease: the session counts as lost, with its claims */
#ifdef MUTANT_TIME_OUT_KEEPS_SESSION
  :: d_step { (pc[i] == trying) && rq[i] == 0 && ans[i] == 0 && cut[i] -> cut[i] = false; send(i, try) }
#endif
  :: d_step { (cut[i] || rq[i] != 0 && !waiting(i)) && pc[i] != ended && pc[i] != idle && age[i] >= L && ans[i] == 0 -> printf("client %d gives its session up\n", i); discard(i) }
  /* a wait is given up: the server may have carried it out before it is cancelled */
  :: d_step { faults > 0 && HITS(i) && waits(i) -> faults--; giveWaitUp(i) }
  :: d_step { faults > 0 && HITS(i) && waits(i) && READY(i) -> faults--; carryOut(i); giveWaitUp(i) }
  :: d_step { faults > 0 && HITS(i) && pc[i] != ended && pc[i] != idle -> printf("client %d dies\n", i); fault(); discard(i); pc[i] = ended; second = (i == 0 -> true : second) }
  :: d_step { faults > 0 && HITS(i) && !cut[i] && lives[i] && pc[i] != ended && pc[i] != idle -> printf("no answer reaches client %d any more\n", i); fault(); cut[i] = true }
  :: d_step { faults > 0 && HITS(i) && lives[i] && pc[i] != ended && pc[i] != idle -> printf("the server ends the session of client %d\n", i); fault();
       killed[i] = true; endSession(i) }
  /* the server */
  :: d_step { READY(i) -> carryOut(i) }
  /* a statement that waits ends, since vacuum must not be held back for longer */
  :: d_step { waiting(i) && !cut[i] && lives[i] && !sliced[i] && !READY(i) -> sliced[i] = true; rq[i] = 0; ans[i] = over
#ifdef MUTANT_TURN_BETWEEN_STATEMENTS
       ; if :: turnOf == i + 1 -> turnOf = 0; pc[i] = inLine :: else fi
#endif
     }
  od
}

/* The server counts a session's silence while it runs nothing; a statement that waits counts if its connection is cut. */
#define counts(i) (lives[i] && pc[i] != idle && pc[i] != ended && (rq[i] == 0 || cut[i]) && ans[i] == 0 && pc[i] != inLine && pc[i] != firstInLine || lives[i] && cut[i] || lives[i] && ans[i] != 0)
#define ages(i) ((rq[i] != 0 && (!waiting(i) || pc[i] == firstInLine) || ans[i] != 0 || cut[i]) && pc[i] != ended && age[i] < L)
inline pass(i)
{
  if :: valid[i] > 0 -> valid[i]-- :: else fi;
  if :: ages(i) -> age[i]++ :: else fi;
  if
  :: counts(i) -> silent[i]++; if :: silent[i] >= PATIENCE -> endSession(i) :: else fi
  :: else
  fi
}

active proctype world()
{
end:
  do
  :: d_step { valid[0] > 0 || valid[1] > 0 || valid[2] > 0 || ages(0) || ages(1) || ages(2) || counts(0) || counts(1) || counts(2) ->
       printf("time passes\n"); pass(0); pass(1); pass(2) }
  :: d_step { faults > 0 && RESTARTS -> printf("the server restarts\n"); fault(); token = (token > LAG -> token - LAG : 0);
       killed[0] = killed[0] || lives[0]; killed[1] = killed[1] || lives[1]; killed[2] = killed[2] || lives[2];
       endSession(0); endSession(1); endSession(2) }
  od
}

init
{
  atomic { run client(0); run client(1); if :: CONTENDERS > 2 -> run client(2) :: else -> pc[2] = ended fi };
  timeout -> /* nothing can happen any more */
  assert((pc[0] == ended && pc[1] == ended && pc[2] == ended) || WAKE);
  assert((owner == 0 && readers == 0 && turnOf == 0) || LEFT)
}
