package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import java.util.Arrays;

/**
 * An attempt as a script takes it. Immutable but for the array, which {@link RedisAttempts} may change before it is
 * sent, or sent again.
 *
 * @param inLine whether it is made by {@link RedisDemandScripts#ATTEMPT}, or by the mutex's {@link RedisScript#ATTEMPT}
 * @param demand what is asked for
 * @param keys the lock's keys
 * @param args the script's arguments, the owner first
 * @param generation the attempt's, which is among the arguments as well
 */
public record RedisAttempt(boolean inLine, Demand demand, RedisKeys keys, String[] args, long generation) {

    /** The same attempt, standing in one line with shares and permits. */
    RedisAttempt ofLine() {
        String[] more = Arrays.copyOf(args, args.length + 3);
        boolean permits = demand instanceof Demand.Permits;
        more[args.length] = demand instanceof Demand.Exclusive ? "x" : permits ? "p" : "s";
        more[args.length + 1] = Integer.toString(demand instanceof Demand.Permits asked ? asked.permits() : 0);
        more[args.length + 2] = Integer.toString(demand instanceof Demand.Permits asked ? asked.limit() : 0);
        return new RedisAttempt(true, demand, keys, more, generation);
    }

    public String owner() {
        return args[0];
    }

    public RedisScript script() {
        return inLine ? RedisDemandScripts.ATTEMPT : RedisScript.ATTEMPT;
    }

    public String[] scriptKeys() {
        return inLine ? keys.withLimit() : keys.all();
    }

    /** The script that ends it. */
    public RedisScript releaseScript() {
        return releaseScript(demand);
    }

    /** The script that ends what has that demand. */
    public static RedisScript releaseScript(Demand demand) {
        return demand instanceof Demand.Exclusive ? RedisScript.RELEASE : RedisDemandScripts.RELEASE;
    }
}
