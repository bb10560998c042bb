<?php
/**
 * The lease of the worker: one process at a time, which has to renew it.
 *
 * A lease is released only while there is nothing to send, in the same step that checks it: so a request that saves a
 * change either finds a worker that will see it, or finds none and starts one.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

/**
 * Takes the lease for this process, if no other process has it.
 *
 * @return string|null Who this process is.
 */
function headland_take_lease() {
	$worker = bin2hex( random_bytes( 8 ) );
	$taken  = headland_change_state(
		function ( $state ) use ( $worker ) {
			$now = microtime( true );
			if ( headland_has_worker( $state, $now ) && 'starting' !== $state['worker'] ) {
				return null;
			}
			return headland_with_worker( $state, $worker, $now + HEADLAND_LEASE_SECONDS );
		}
	);
	return $taken ? $worker : null;
}

/**
 * Renews the lease, when it is time to.
 *
 * @param string $worker Who.
 * @param array  $state  The state.
 * @param float  $now    The time.
 */
function headland_renew_lease( $worker, $state, $now ) {
	if ( $state['worker_until'] - $now > HEADLAND_LEASE_SECONDS / 2 ) {
		return;
	}
	headland_change_state(
		function ( $state ) use ( $worker ) {
			return $state['worker'] === $worker ? headland_with_worker( $state, $worker, microtime( true ) + HEADLAND_LEASE_SECONDS ) : null;
		}
	);
}

/**
 * Releases the lease, unless there is something to send.
 *
 * @param string $worker   Who.
 * @param array  $settings The settings.
 * @return bool Whether this process is done.
 */
function headland_give_back_lease( $worker, $settings ) {
	$is_done = true;
	headland_change_state(
		function ( $state ) use ( $worker, $settings, &$is_done ) {
			$is_ours = $state['worker'] === $worker;
			$is_done = ! $is_ours || null === headland_due( $state, $settings );
			return $is_ours && $is_done ? headland_with_worker( $state, '', 0.0 ) : null;
		}
	);
	return $is_done;
}

/**
 * Releases the lease, even if there is something to send.
 *
 * @param string $worker Who.
 */
function headland_drop_lease( $worker ) {
	headland_change_state(
		function ( $state ) use ( $worker ) {
			return $state['worker'] === $worker ? headland_with_worker( $state, '', 0.0 ) : null;
		}
	);
}
