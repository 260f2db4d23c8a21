/* The contenders, the network, time and the checks; state.pml has the variables. */
#define open(i) (rq[i] != 0 || got[i])
#define two ((valid[0] > 0) + (valid[1] > 0) + (valid[2] > 0) > 1)
#define gone(i) (pc[i] == ended || pc[i] == dead)
#ifdef MUTANT_DEADLINE_FROM_REPLY
#define certain(i) L
#else
#define certain(i) (L - age[i])
#endif

#ifdef VICTIM
#define HITS(i) (i == VICTIM) /* all faults hit one client */
#else
#define HITS(i) true
#endif
#ifndef LOST_LEAVES
#define LOST_LEAVES false /* whether what is lost, or was refused, is removed for sure */
#endif
#ifdef LATE_ONLY
#define OTHERS false
#else
#define OTHERS true
#endif
#ifdef STAGED
#define STAGE(k) (pc[k] != asking) /* each begins when the one before has had an answer */
#else
#define STAGE(k) true
#endif
#ifndef IN_ORDER
#define IN_ORDER false /* whether the clients begin in their order */
#endif
#ifndef MAY_POLL
#define MAY_POLL false /* whether something has happened of which the store tells nobody */
#endif
#ifndef WRITES
#define WRITES true
#endif
#ifdef NO_RENEWALS
#define MAY_RENEW(i) false
#else
#define MAY_RENEW(i) (i < 2)
#endif
#ifndef SENT
#define SENT(i) skip
#define KEEP(k, i) skip
#define LOAD(i) skip
#define LOAD_LATE(k) skip
#endif
#ifndef UNHEARD
#define UNHEARD(i) skip /* its request is not answered, and may arrive */
#endif
#ifdef HANDS_OVER
bool handed[N];              /* a message has come that it is the holder, by its latest attempt */
#ifdef HEARD /* it has heard that it is first: a waiter's lease is kept until then, and counts from then on */
#define SEEN(i) skip
#define BUSY(i) age[i] = 0
#define ages(i) ((open(i) || handed[i]) && age[i] < L)
#define FORGET_HANDED(i, event) if :: event == attempt || event == abandon -> handed[i] = false :: else fi
#else
bool seen[N];                /* the store has carried its latest attempt out */
#define SEEN(i) if :: rq[i] == attempt -> seen[i] = true :: else fi
#define BUSY(i) skip /* the attempt's age counts on */
#define ages(i) ((open(i) || pc[i] == waiting || handed[i]) && age[i] < L)
#ifdef MUTANT_NUMBER_NOT_COMPARED
#define FORGET_HANDED(i, event) skip
#else
#define FORGET_HANDED(i, event) if :: event == attempt || event == abandon -> handed[i] = false; seen[i] = false :: else fi
#endif
#endif
#ifdef MUTANT_MESSAGE_SETS_THE_CLOCK
#define AGE(i) 0
#else
#define AGE(i) age[i]
#endif
inline takeOver(i)
{
  handed[i] = false;
  if
  :: AGE(i) < L ->
       pc[i] = holding; valid[i] = L - AGE(i); printf("client %d is handed the lock and holds, for %d, with token %d\n", i, valid[i], gotTok[i]);
       assert(!two || S1);
       assert(gotTok[i] > maxHeld || S2);
       maxHeld = gotTok[i]; polled[0] = false; polled[1] = false; polled[2] = false;
       holders++; age[i] = 0
  :: else -> pc[i] = asking; send(i, attempt)
  fi
}
#else
#define SEEN(i) skip
#define BUSY(i) age[i] = 0
#define ages(i) (open(i) && age[i] < L)
#define FORGET_HANDED(i, event) skip
#endif
inline send(i, event)
{
  printf("client %d sends: %e\n", i, event);
  rq[i] = event; age[i] = 0; FORGET_HANDED(i, event); SENT(i)
}

inline over(i)
{
  FORGET_HANDED(i, attempt);
  valid[i] = 0; age[i] = 0; got[i] = false; gotTok[i] = 0; renewals[i] = false; called[i] = false; polled[i] = false;
  if :: i == 0 && ROUNDS == 2 && !second[i] -> second[i] = true; pc[i] = idle
     :: else -> pc[i] = ended
  fi
}

/* The store carries a request out. Only the answer to an attempt takes its time: the others change what the client knows at once. */
inline execute(i)
{
  LOAD(i);
  SEEN(i);
  serve(rq[i], ID(i));
  rq[i] = 0;
  if
  :: pc[i] != dead && answer == again -> if :: pc[i] == asking -> send(i, attempt) :: else -> age[i] = 0 fi
  :: pc[i] == dead -> age[i] = 0
  :: pc[i] != dead && answer == granted -> got[i] = true; gotTok[i] = tok
  :: pc[i] != dead && answer == busy -> BUSY(i); pc[i] = waiting
  :: pc[i] != dead && answer == renewed ->
       if :: valid[i] > 0 && certain(i) > valid[i] -> valid[i] = certain(i); assert(!two || S1) :: else fi;
       age[i] = 0
  :: pc[i] != dead && answer == lost ->
       assert(disturbed || valid[i] == 0 || LOSS);
       if :: LOST_LEAVES -> valid[i] = 0; pc[i] = ending; send(i, abandon) :: else -> over(i) fi
  :: pc[i] != dead && (answer == released || answer == notheld || answer == done) -> over(i)
  fi
}

inline hear(i)
{
  got[i] = false;
  if
  :: certain(i) > 0 ->
       pc[i] = holding; valid[i] = certain(i); printf("client %d holds, for %d, with token %d\n", i, valid[i], gotTok[i]);
       assert(!two || S1);
       assert(gotTok[i] > maxHeld || S2);
       maxHeld = gotTok[i]; polled[0] = false; polled[1] = false; polled[2] = false;
       holders++
  :: else -> pc[i] = ending; send(i, abandon)
  fi;
  age[i] = 0
}

#define slot (late[0] == 0 -> 0 : 1)
inline isLate(i)
{
  lateId[slot] = ID(i); KEEP(slot, i); late[slot] = rq[i]
}

inline fault()
{
  faults--; disturbed = true
}

proctype client(byte i)
{
end:
  do
  :: d_step { pc[i] == idle && (i == 0 || IN_ORDER && pc[(i == 0 -> 0 : i - 1)] != idle && STAGE((i == 0 -> 0 : i - 1)) || !IN_ORDER && (i < 2 || pc[1] != idle)) -> pc[i] = asking; send(i, attempt) }
  :: d_step { pc[i] == asking && !open(i) -> send(i, attempt) }               /* nobody knows: it asks again, */
  :: d_step { pc[i] == asking && !open(i) -> pc[i] = ending; send(i, abandon) } /* or gives up */
  :: d_step { got[i] && pc[i] == asking -> hear(i) }
#ifdef HANDS_OVER
  :: d_step { handed[i] && pc[i] == waiting -> takeOver(i) }
  :: d_step { handed[i] && faults > 0 && HITS(i) && OTHERS -> printf("the message to client %d is lost\n", i); fault(); handed[i] = false }
#endif
  :: d_step { pc[i] == waiting && (called[i] || free(i)) -> called[i] = false; pc[i] = asking; send(i, attempt) }
  :: d_step { pc[i] == holding && !open(i) && !renewals[i] && valid[i] > 0 && MAY_RENEW(i) -> renewals[i] = true; send(i, renew) }
  :: d_step { pc[i] == holding && i == 0 && valid[i] > 0 && write == 0 && !second[0] && WRITES -> write = gotTok[0]; writeNo = holders }
  :: d_step { pc[i] == holding && !open(i) -> valid[i] = 0; gotTok[i] = 0; pc[i] = releasing; send(i, release) }
  :: d_step { pc[i] == releasing && !open(i) -> send(i, release) }
  :: d_step { pc[i] == ending && !open(i) -> send(i, abandon) }
  /* faults */
  :: d_step { faults > 0 && HITS(i) && OTHERS && pc[i] == waiting -> printf("client %d gives up\n", i); faults--; pc[i] = ending; send(i, abandon) } /* a waiter gives up */
  :: d_step { faults > 0 && HITS(i) && OTHERS && !gone(i) -> printf("client %d dies\n", i); faults--; if :: pc[i] != waiting && !CRASH_TELLS -> disturbed = true :: else fi;
       died(i); pc[i] = dead; FORGET_HANDED(i, attempt); valid[i] = 0; got[i] = false; gotTok[i] = 0; called[i] = false }
  :: d_step { faults > 0 && HITS(i) && OTHERS && rq[i] != 0 && pc[i] != dead -> printf("the request of client %d is lost\n", i); fault(); UNHEARD(i); rq[i] = 0; age[i] = 0 }
  :: d_step { faults > 0 && HITS(i) && OTHERS && rq[i] != 0 && pc[i] != dead -> printf("the answer to client %d is lost\n", i); fault(); UNHEARD(i); LOAD(i); SEEN(i); serve(rq[i], ID(i)); rq[i] = 0; age[i] = 0 }
  :: d_step { faults > 0 && HITS(i) && rq[i] != 0 && pc[i] != dead -> printf("client %d gives its request up, which is on its way\n", i); fault(); UNHEARD(i); isLate(i); rq[i] = 0; age[i] = 0 }
  :: d_step { faults > 0 && HITS(i) && rq[i] != 0 && pc[i] != dead -> printf("the request of client %d is repeated\n", i); fault(); isLate(i) }
  :: d_step { faults > 0 && HITS(i) && OTHERS && called[i] -> printf("the signal to client %d is lost\n", i); fault(); called[i] = false }
  /* the store */
  :: d_step { rq[i] != 0 -> execute(i) }
  od
}

inline pass(i)
{
  if :: valid[i] > 0 -> valid[i]-- :: else fi;
  if :: ages(i) -> age[i]++ :: else fi
}

active proctype world()
{
end:
  do
  :: d_step { late[0] != 0 -> printf("a late request arrives\n"); LOAD_LATE(0); serve(late[0], lateId[0]); late[0] = 0; lateId[0] = 0 }
  :: d_step { late[1] != 0 -> printf("a late request arrives\n"); LOAD_LATE(1); serve(late[1], lateId[1]); late[1] = 0; lateId[1] = 0 }
  :: d_step { write != 0 ->
       if :: write >= highest -> assert(writeNo >= highestNo || S2); highest = write; highestNo = writeNo :: else fi;
       write = 0; writeNo = 0 }
  :: d_step { storeCounts || valid[0] > 0 || valid[1] > 0 || valid[2] > 0 || ages(0) || ages(1) || ages(2) ->
       printf("time passes\n"); pass(0); pass(1); pass(2); storeTick() }
#ifdef OTHER_EVENTS
  OTHER_EVENTS
#endif
  od
}

#define needs(i) (pc[i] == waiting && !polled[i])
inline poll(i)
{
  assert(disturbed || MAY_POLL || WAKE); /* undisturbed, nobody has to poll */
  polled[i] = true; called[i] = true
}

init
{
#ifdef BEGIN
  BEGIN;
#endif
  atomic { run client(0); run client(1); if :: CONTENDERS > 2 -> run client(2) :: else -> pc[2] = ended fi };
  do
  :: timeout -> /* nothing can happen any more: whoever waits has only the poll left */
     if
     :: d_step { needs(0) -> poll(0) }
     :: d_step { !needs(0) && needs(1) -> poll(1) }
     :: d_step { !needs(0) && !needs(1) && needs(2) -> poll(2) }
     :: else -> break
     fi
  od;
  assert((gone(0) && gone(1) && gone(2)) || WAKE);
  assert(nothingLeft || LEFT)
}
