package dev.holdfast.broken;

import dev.holdfast.lock.spi.RenewResult;
import java.text.Normalizer;
import java.util.List;
import java.util.Locale;

/** All mutants: the mistakes that locks have been found to make, one each. */
final class Mutants {

    /** Nothing is wrong with it. */
    static final Mutant CONTROL = Mutant.ofClient("none", client -> client);

    private static final List<Mutant> ALL = List.of(

            // Exclusion
            Mutant.ofBackend("no-op lock", BrokenBackends::noOp, "BackendAttempts"),
            Mutant.ofBackend("no-op lock, seen by a user", BrokenBackends::noOp, "Exclusion"),
            Mutant.ofServer("GET-then-SET", BrokenServers::getThenSet, "BackendAttempts"),
            Mutant.ofServer("GET-then-SET, seen by a user", BrokenServers::getThenSet, "Contention"),
            Mutant.ofServer("release without owner check", BrokenServers::releaseUnchecked, "BackendReleases"),
            Mutant.ofBackend("renewal without owner check", BrokenBackends::renewUnchecked, "BackendRenewals"),
            // Time
            Mutant.ofClient("deadline counted from the response", BrokenClients::deadlineFromResponse, "Renewal"),
            Mutant.ofClient("deadline by a wall clock that is set back", BrokenClients::wallClock, "Renewal"),
            Mutant.ofServer("lease that never ends", BrokenServers::endless, "BackendReleases"),
            Mutant.ofServer("renewal that does not extend", BrokenServers::renewNothing, "BackendRenewals"),
            Mutant.ofServer("renewal of the first grant alone", BrokenServers::renewFirst, "BackendRenewals"),
            Mutant.ofBackend(
                    "renewal failure ignored",
                    (store, backend) -> BrokenBackends.renewResults(
                            backend, (grant, result) -> new RenewResult.Renewed(grant.leaseMillis())),
                    "BackendRenewals"),
            Mutant.ofBackend(
                    "renewal failure ignored, seen by a user",
                    (store, backend) -> BrokenBackends.renewResults(
                            backend, (grant, result) -> new RenewResult.Renewed(grant.leaseMillis())),
                    "Loss"),
            Mutant.ofBackend(
                    "renewal failure called unknown",
                    (store, backend) -> BrokenBackends.renewResults(
                            backend,
                            (grant, result) -> result instanceof RenewResult.Lost
                                    ? new RenewResult.Unknown("no idea", null)
                                    : result),
                    "BackendRenewals"),
            Mutant.ofClient("loss never reported", BrokenClients::lossNeverTold, "HoldLimits"),
            Mutant.ofClient("loss told twice", BrokenClients::lossToldTwice, "Loss"),
            // Retries and waiters
            Mutant.ofBackend("non-idempotent retry", BrokenBackends::newOwnerEachTime, "BackendAttempts"),
            Mutant.ofBackend("non-idempotent retry, seen by a user", BrokenBackends::newOwnerEachTime, "LostReply"),
            Mutant.ofBackend(
                    "grant after the waiter's session died", BrokenBackends::grantsToDead, "BackendAbandonments"),
            Mutant.ofBackend("waiter not removed on cancel", BrokenBackends::waiterStays, "BackendAbandonments"),
            Mutant.ofBackend("waiter not removed on cancel, seen by a user", BrokenBackends::waiterStays, "Waiting"),
            Mutant.ofBackend("grant not removed on cancel", BrokenBackends::grantStays, "BackendAbandonments"),
            Mutant.ofBackend("place kept by who does not wait", BrokenBackends::alwaysQueues, "BackendAttempts"),
            Mutant.ofBackend("watch after check", BrokenBackends::watchAfterCheck, "BackendQueues"),
            Mutant.ofBackend("latest waiter first", BrokenBackends::barging, "BackendQueues"),
            Mutant.ofBackend("waiters that ask without a pause", BrokenBackends::spinning, "Houses"),
            // Tokens
            Mutant.ofBackend("token reset when idle", BrokenBackends::tokenReset, "BackendTokens"),
            Mutant.ofBackend("token of the same height", BrokenBackends::tokenShared, "BackendTokens"),
            Mutant.ofServer("sequence suffix as token", BrokenServers::tokenByArrival, "BackendTokens"),
            Mutant.ofClient("new token on re-entry", BrokenClients::tokenOnReentry, "Reentry"),
            Mutant.ofClient("same token on hand-off", BrokenClients::tokenOfServerOnly, "Fencing"),
            // Shares and permits
            Mutant.ofServer("reader admitted beside a writer", BrokenShares::readersBesideWriters, "BackendShares"),
            Mutant.ofServer(
                    "reader admitted beside a writer, seen by a user",
                    BrokenShares::readersBesideWriters,
                    "ReadWriteLocks"),
            Mutant.ofBackend("one reader at a time", BrokenDemands::oneReader, "BackendShares"),
            Mutant.ofBackend(
                    "first reader to leave releases all", BrokenDemands::firstReaderReleasesAll, "BackendShares"),
            Mutant.ofBackend("one holder told of several", BrokenDemands::oneHolderTold, "BackendPermits"),
            Mutant.ofBackend("limit ignored", BrokenDemands::noLimit, "BackendPermits"),
            Mutant.ofBackend("limit ignored, seen by a user", BrokenDemands::noLimit, "Semaphores"),
            Mutant.ofBackend("another limit not told", BrokenDemands::limitNotCompared, "BackendPermits"),
            Mutant.ofBackend("another limit not told, seen by a user", BrokenDemands::limitNotCompared, "Semaphores"),
            Mutant.ofBackend("limit not changed", BrokenDemands::limitNotChanged, "BackendPermits"),
            Mutant.ofServer("permit freed twice", BrokenShares::freedTwice, "BackendPermits"),
            Mutant.ofServer("permit freed twice, seen by a user", BrokenShares::freedTwice, "Semaphores"),
            Mutant.ofBackend("slot given twice", BrokenDemands::oneSlot, "BackendPermits"),
            Mutant.ofBackend("slot given twice, seen by a user", BrokenDemands::oneSlot, "Semaphores"),
            // Names
            Mutant.ofBackend(
                    "prefix collision: name cut at a slash",
                    (store, backend) -> BrokenBackends.names(backend, name -> name.replaceAll("(?s)(.)/.*", "$1")),
                    "BackendNames"),
            Mutant.ofBackend(
                    "name folded to lower case",
                    (store, backend) -> BrokenBackends.names(backend, name -> name.toLowerCase(Locale.ROOT)),
                    "BackendNames"),
            Mutant.ofBackend(
                    "name without trailing spaces",
                    (store, backend) -> BrokenBackends.names(backend, name -> name.replaceAll(" +$", "")),
                    "BackendNames"),
            Mutant.ofBackend(
                    "name normalized",
                    (store, backend) ->
                            BrokenBackends.names(backend, name -> Normalizer.normalize(name, Normalizer.Form.NFC)),
                    "BackendNames"),
            Mutant.ofBackend(
                    "name cut to 255 characters",
                    (store, backend) ->
                            BrokenBackends.names(backend, name -> name.substring(0, Math.min(255, name.length()))),
                    "BackendNames"),
            Mutant.ofBackend(
                    "name percent-decoded",
                    (store, backend) -> BrokenBackends.names(backend, name -> name.replace("%2F", "/")),
                    "BackendNames"),
            Mutant.ofBackend("holder told after its release", BrokenBackends::staleHolder, "BackendHolders"),
            // The client
            Mutant.ofClient("unlock swallows errors", BrokenClients::unlockSwallows, "Ownership"),
            Mutant.ofClient("unlock by anybody", BrokenClients::unlockByAnybody, "Ownership"),
            Mutant.ofClient("lease owned by its thread", BrokenClients::leaseOwnedByItsThread, "Ownership"),
            Mutant.ofClient("view of a hold that releases it", BrokenClients::viewReleases, "Ownership"),
            Mutant.ofClient("interrupt ignored", BrokenClients::interruptIgnored, "Interrupt"),
            Mutant.ofClient("interrupt flag forgotten", BrokenClients::flagForgotten, "Interrupt"),
            Mutant.ofClient("time limit taken for zero", BrokenClients::neverWaits, "Waiting"),
            Mutant.ofBackend("renewals behind attempts", BrokenDemands::renewsBehindAttempts, "Bystanders"),
            Mutant.ofClient("close leaves the locks", BrokenClients::closeLeavesLocks, "Shutdown"));

    private Mutants() {}

    static List<Mutant> all() {
        return ALL;
    }
}
