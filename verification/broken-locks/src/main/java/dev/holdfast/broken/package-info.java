/** Locks that are broken on purpose: the contract and the judges of the chaos runs must find each of them. */
package dev.holdfast.broken;
