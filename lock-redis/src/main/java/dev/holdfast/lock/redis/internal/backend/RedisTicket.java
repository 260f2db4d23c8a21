package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Ticket;

/**
 * A place in a lock's queue.
 *
 * @param acquisition who waits
 * @param inLine whether there were shares or permits, held or waited for, so that {@link RedisDemandScripts} decide
 * @param arrival the place: the server's time of arrival in µs, made unique
 */
public record RedisTicket(AcquisitionId acquisition, boolean inLine, long arrival) implements Ticket {}
