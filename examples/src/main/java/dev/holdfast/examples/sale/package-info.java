/**
 * The flash sale: several JVMs sell one limited stock, first without a lock and then with it. Start at
 * {@link dev.holdfast.examples.sale.FlashSale}, which starts {@link dev.holdfast.examples.sale.Worker} in JVMs of their
 * own; the stock is a {@link dev.holdfast.examples.sale.Shop}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples.sale;
