package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.StoreFinding;
import io.etcd.jetcd.cluster.Member;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Reports the members and the version of an etcd cluster. Stateless. */
public final class EtcdExamination {
    private EtcdExamination() {}

    public static CompletableFuture<List<StoreFinding>> examine(EtcdCalls calls, long timeoutMillis) {
        return calls.bounded(calls.members(), timeoutMillis / 2)
                .thenCompose(reply -> {
                    List<Member> members = reply.getMembers();
                    return version(calls, members, timeoutMillis / 2)
                            .thenApply(version -> List.of(version, count(members.size())));
                })
                .exceptionally(failure -> List.of(StoreFinding.ok("the members could not be read ("
                        + EtcdFailures.TRANSLATOR.translate("", failure).getMessage() + "); locks do not need them")));
    }

    public static StoreFinding count(int members) {
        return members < 3
                ? StoreFinding.warning(
                        "members: " + members
                                + "; while one is down no lock can be acquired or renewed, and the data has no second copy to"
                                + " rely on",
                        "run three: etcdctl member add")
                : StoreFinding.ok("members: " + members);
    }

    private static CompletableFuture<StoreFinding> version(EtcdCalls calls, List<Member> members, long timeoutMillis) {
        List<URI> addresses = members.stream()
                .flatMap(member -> member.getClientURIs().stream())
                .toList();
        if (addresses.isEmpty()) {
            return CompletableFuture.completedFuture(StoreFinding.ok("its members report no client address"));
        }
        return calls.bounded(calls.status(addresses.get(0)), timeoutMillis)
                .thenApply(status -> StoreFinding.ok("etcd " + status.getVersion()))
                .exceptionally(failure -> StoreFinding.ok(
                        "the version is unknown: member " + addresses.get(0) + " cannot be reached directly"));
    }
}
