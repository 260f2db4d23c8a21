package dev.holdfast.lock.consul;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Renews all due grants: one request for each of their sessions, of which there is one for each length of lease, and
 * one request for each group of up to 64 keys, which checks that the keys are unchanged. All are sent at once.
 * Thread-safe; never blocks.
 */
final class ConsulRenewal {
    private final Sessions sessions;
    private final ConsulKeys keys;

    ConsulRenewal(Sessions sessions, ConsulKeys keys) {
        this.sessions = sessions;
        this.keys = keys;
    }

    CompletableFuture<List<RenewResult>> renew(List<Grant> grants, Deadline deadline) {
        long startNanos = System.nanoTime();
        Map<ConsulSession, CompletableFuture<Boolean>> renewals = new LinkedHashMap<>();
        List<ConsulHold> holds = new ArrayList<>();
        for (Grant grant : grants) {
            ConsulHold hold = ConsulHold.of(grant);
            if (hold != null) {
                holds.add(hold);
                renewals.computeIfAbsent(hold.session(), session -> orFailure(sessions.renew(session, deadline)));
            }
        }
        Map<ConsulHold, CompletableFuture<@Nullable RenewResult>> checks = new HashMap<>();
        for (int from = 0; from < holds.size(); from += Transaction.MAX_OPERATIONS) {
            check(holds.subList(from, Math.min(holds.size(), from + Transaction.MAX_OPERATIONS)), checks, deadline);
        }
        List<CompletableFuture<?>> all = new ArrayList<>(checks.values());
        renewals.values().forEach(renewal -> all.add(renewal.handle((there, failure) -> true)));
        return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> grants.stream()
                        .map(grant -> result(ConsulHold.of(grant), startNanos, renewals, checks))
                        .toList());
    }

    private static <T> CompletableFuture<T> orFailure(CompletableFuture<T> stage) {
        return ConsulFailures.TRANSLATOR.translate("", stage);
    }

    /** Adds the failure of each key, or null if the key is unchanged. */
    private void check(
            List<ConsulHold> some,
            Map<ConsulHold, CompletableFuture<@Nullable RenewResult>> checks,
            Deadline deadline) {
        Transaction transaction = new Transaction();
        some.forEach(hold -> transaction.checkIndex(keys.lock(hold.acquisition().name()), hold.index()));
        CompletableFuture<Transaction.Outcome> outcome = orFailure(sessions.transact(transaction, true, deadline));
        for (int i = 0; i < some.size(); i++) {
            int number = i;
            checks.put(some.get(i), outcome.handle((answer, failure) -> {
                if (failure != null) {
                    return unknown(failure);
                }
                return answer.refusals().containsKey(number)
                        ? new RenewResult.Lost(LossReason.REVOKED, "its key in Consul was deleted or changed")
                        : null;
            }));
        }
    }

    private static RenewResult result(
            @Nullable ConsulHold hold,
            long startNanos,
            Map<ConsulSession, CompletableFuture<Boolean>> renewals,
            Map<ConsulHold, CompletableFuture<@Nullable RenewResult>> checks) {
        if (hold == null) {
            return new RenewResult.Lost(LossReason.REVOKED, "it is not this client's grant");
        }
        RenewResult wrong = Objects.requireNonNull(checks.get(hold)).join();
        boolean lost = wrong instanceof RenewResult.Lost;
        try {
            if (!Objects.requireNonNull(renewals.get(hold.session())).join()) {
                // The keys of a session end with it, so an unchanged key contradicts the answer.
                return lost
                        ? new RenewResult.Lost(LossReason.SESSION_LOST, "Consul has ended its " + hold.session())
                        : new RenewResult.Unknown("Consul does not find its " + hold.session(), null);
            }
        } catch (RuntimeException e) {
            return lost && wrong != null ? wrong : unknown(e);
        }
        if (wrong != null) {
            return wrong;
        }
        long leaseMillis = hold.session().leftMillis(startNanos);
        return leaseMillis > 0
                ? new RenewResult.Renewed(leaseMillis)
                : new RenewResult.Unknown("its session was renewed too late", null);
    }

    private static RenewResult unknown(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        return new RenewResult.Unknown(String.valueOf(cause.getMessage()), cause);
    }
}
