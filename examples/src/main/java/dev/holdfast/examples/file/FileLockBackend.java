package dev.holdfast.examples.file;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Locks for the processes of one machine: one small file a name in a folder that they share. The worked example of
 * {@code docs/adding-a-backend.md}; nothing to run in production.
 *
 * <p>One thread makes all requests, one after the other. So an abandonment comes after the attempts that it ends, and an
 * interrupt of the caller cannot close a file under a request. Thread-safe.
 */
public final class FileLockBackend implements LockBackend {
    private static final BackendInfo INFO = BackendInfo.named("file")
            .minLeaseMillis(50)
            .pollMinMillis(5)
            .pollMaxMillis(200)
            .build();

    private final Path folder;
    private final ThreadPoolExecutor worker;

    /**
     * Opens a backend.
     *
     * @param folder where the files are; made if missing
     * @throws LockConfigurationException if it cannot be made
     */
    public FileLockBackend(Path folder) {
        try {
            this.folder = Files.createDirectories(folder);
        } catch (IOException e) {
            throw new LockConfigurationException("lock folder " + folder + ": cannot be made; check its rights", e);
        }
        worker = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
            Thread thread = new Thread(task, "holdfast-file");
            thread.setDaemon(true);
            return thread;
        });
        worker.allowCoreThreadTimeOut(true); // idle costs nothing, not even a thread
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    /** Grants a free lock with the next token, and repeats the grant of an owner that has it already. */
    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        AcquisitionId acquisition = request.acquisition();
        return answer(acquisition.name(), request.timeoutMillis(), file -> {
            long now = System.currentTimeMillis();
            LockRecord last = file.read();
            boolean mine = last.isHeldBy(acquisition.owner(), now);
            if (last.isHeld(now) && !mine) {
                return new AcquireResult.Busy(last.endMillis() - now, null); // no queue: nothing is left behind
            }
            LockRecord held = mine
                    ? last.until(now + request.leaseMillis())
                    : last.grantedTo(acquisition.owner(), now, request.leaseMillis(), request.identity());
            file.write(held);
            return new AcquireResult.Granted(new Grant(acquisition, held.token(), request.leaseMillis(), null));
        });
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        return end(acquisition, timeoutMillis).thenAccept(result -> {});
    }

    /** One file after the other: a store with a network would send all in one trip. */
    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        CompletableFuture<List<RenewResult>> results = CompletableFuture.completedFuture(new ArrayList<>());
        for (Grant grant : grants) {
            CompletionStage<RenewResult> one = answer(grant.acquisition().name(), timeoutMillis, file -> {
                long now = System.currentTimeMillis();
                LockRecord last = file.read();
                if (!last.isHeldBy(grant.acquisition().owner(), now)) {
                    return new RenewResult.Lost(LossReason.REVOKED, "the file has token " + last.token() + " now");
                }
                file.write(last.until(now + grant.leaseMillis()));
                return new RenewResult.Renewed(grant.leaseMillis());
            });
            CompletionStage<RenewResult> answer = one.exceptionally(e -> new RenewResult.Unknown(e.toString(), e));
            results = results.thenCombine(answer, (list, result) -> {
                list.add(result);
                return list;
            });
        }
        return results;
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return end(grant.acquisition(), timeoutMillis);
    }

    private CompletionStage<ReleaseResult> end(AcquisitionId acquisition, long timeoutMillis) {
        return answer(acquisition.name(), timeoutMillis, file -> {
            LockRecord last = file.read();
            if (!last.isHeldBy(acquisition.owner(), System.currentTimeMillis())) {
                return ReleaseResult.NOT_HELD;
            }
            file.write(last.until(0)); // the record stays: the next token must be higher
            return ReleaseResult.RELEASED;
        });
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return answer(name, timeoutMillis, file -> file.read().holder(System.currentTimeMillis()));
    }

    private <T> CompletionStage<T> answer(String name, long timeoutMillis, LockFile.Action<T> action) {
        try {
            return CompletableFuture.supplyAsync(() -> LockFile.with(folder, name, timeoutMillis, action), worker);
        } catch (RejectedExecutionException e) {
            return CompletableFuture.failedStage(new LockUnavailableException("it is closed; open another one", e));
        }
    }

    @Override
    public void close() {
        worker.shutdown();
    }
}
