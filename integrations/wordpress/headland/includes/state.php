<?php
/**
 * The changes that are still to be sent: one row of the options table, changed by compare and swap.
 *
 * Saves of many editors and the worker change this row at the same time. Each reads it, decides, and writes only if it
 * is still as it was read; else it decides again. So a change that is saved while the worker sends, or just before the
 * worker ends, is always seen by one of the two. WordPress' option functions cannot do that: they overwrite.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

/** How many times a writer tries again after a conflict. */
const HEADLAND_SWAP_TRIES = 200;

/** The lease of a worker, in seconds, unless it is renewed. */
const HEADLAND_LEASE_SECONDS = 30;

/** How long a worker may take to start, in seconds. */
const HEADLAND_START_SECONDS = 5;

/**
 * The state in which there is nothing to send.
 *
 * @return array
 */
function headland_empty_state() {
	return array(
		// One more with each write, so that no two values of the row are equal.
		'revision'     => 0,
		// Changes that no call stood for yet, as a number for each action.
		'counts'       => array(),
		// The content that they changed, as a number for each name; '*' where it is not known.
		'content'      => array(),
		// When the first and the last of them came.
		'first'        => 0.0,
		'last'         => 0.0,
		// A user asked for a call without waiting.
		'now'          => false,
		// How often the call for them failed, and until when not to try again.
		'tries'        => 0,
		'not_before'   => 0.0,
		// Given up, until something changes or a user asks.
		'resting'      => false,
		// The process that waits and calls; 'starting' until there is one. It loses the lease when it is late.
		'worker'       => '',
		'worker_until' => 0.0,
	);
}

/**
 * The row as it is in the database now.
 *
 * @return string|null
 */
function headland_read_row() {
	global $wpdb;
	// phpcs:ignore WordPress.DB.DirectDatabaseQuery -- A cached value is what this must never see.
	return $wpdb->get_var( "SELECT option_value FROM {$wpdb->options} WHERE option_name = 'headland_state'" );
}

/**
 * The state as it is now.
 *
 * @return array
 */
function headland_read_state() {
	return headland_parse_state( headland_read_row() );
}

/**
 * Reads a row's text. Invalid text counts as empty.
 *
 * @param string|null $row The text.
 * @return array
 */
function headland_parse_state( $row ) {
	$state = null === $row ? null : json_decode( $row, true );
	return array_merge( headland_empty_state(), is_array( $state ) ? $state : array() );
}

/**
 * Changes the state. The decision may be asked several times, each time with the state as it then is.
 *
 * @param callable $decide Takes the state; returns the next one, or null to leave it.
 * @return array|null The state that was written; null if it was left, or could not be written.
 */
function headland_change_state( $decide ) {
	global $wpdb;
	for ( $tries = 0; $tries < HEADLAND_SWAP_TRIES; $tries++ ) {
		$row   = headland_read_row();
		$state = headland_parse_state( $row );
		$next  = $decide( $state );
		if ( null === $next ) {
			return null;
		}
		$next['revision'] = $state['revision'] + 1;
		// phpcs:disable WordPress.DB.DirectDatabaseQuery -- Only the database can compare and swap.
		$written = null === $row
			? $wpdb->query( $wpdb->prepare( "INSERT IGNORE INTO {$wpdb->options} (option_name, option_value, autoload) VALUES ('headland_state', %s, 'no')", wp_json_encode( $next ) ) )
			: $wpdb->query( $wpdb->prepare( "UPDATE {$wpdb->options} SET option_value = %s WHERE option_name = 'headland_state' AND option_value = %s", wp_json_encode( $next ), $row ) );
		// phpcs:enable
		if ( 1 === $written ) {
			return $next;
		}
		if ( false === $written ) {
			break;
		}
		usleep( wp_rand( 0, 100 * min( $tries, 50 ) ) );
	}
	// phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_error_log -- The operator must learn that a change was not noted.
	error_log( 'Headland: the database did not accept a change of the pending state.' );
	return null;
}

/**
 * Notes the changes of a request that is over, and that it is: what was sent while it still ran may have been half of it,
 * so there is at least one to send.
 *
 * @param array    $counts A number for each action.
 * @param string[] $names  The content that the request changed; empty where that is not known.
 * @return bool Whether the caller has to start a worker; others need not try meanwhile.
 */
function headland_record( $counts, $names = array() ) {
	$must_start = false;
	headland_change_state(
		function ( $state ) use ( $counts, $names, &$must_start ) {
			$now        = microtime( true );
			$state      = headland_with_changes( $state, $counts || $state['counts'] ? $counts : array( 'update' => 1 ), $now, $names );
			$must_start = ! headland_has_worker( $state, $now );
			return $must_start ? headland_with_worker( $state, 'starting', $now + HEADLAND_START_SECONDS ) : $state;
		}
	);
	return $must_start;
}

/**
 * The state with more changes. What was given up is retried.
 *
 * @param array    $state  The state.
 * @param array    $counts A number for each action.
 * @param float    $now    The time.
 * @param string[] $names  The content that changed; empty where that is not known.
 * @return array
 */
function headland_with_changes( $state, $counts, $now, $names = array() ) {
	$state['content'] = headland_with_content( $state, $names ? $names : array( HEADLAND_EVERYTHING ) );
	if ( ! $state['counts'] || $state['resting'] ) {
		$state['first'] = $now;
	}
	$state['last'] = $now;
	foreach ( $counts as $action => $count ) {
		$state['counts'][ $action ] = ( $state['counts'][ $action ] ?? 0 ) + $count;
	}
	if ( $state['resting'] ) {
		$state['resting']    = false;
		$state['tries']      = 0;
		$state['not_before'] = 0.0;
	}
	return $state;
}

/**
 * The state with a lease.
 *
 * @param array  $state  The state.
 * @param string $worker The process; '' for none.
 * @param float  $until  When the lease ends unless it is renewed.
 * @return array
 */
function headland_with_worker( $state, $worker, $until ) {
	$state['worker']       = $worker;
	$state['worker_until'] = $until;
	return $state;
}

/**
 * Whether a worker runs, or is being started.
 *
 * @param array $state The state.
 * @param float $now   The time.
 * @return bool
 */
function headland_has_worker( $state, $now ) {
	return '' !== $state['worker'] && $state['worker_until'] > $now;
}

/**
 * When the call is due: a quiet period after the last change, but not later than the longest wait after the first.
 *
 * @param array $state    The state.
 * @param array $settings The settings.
 * @return float|null Null where there is nothing to send.
 */
function headland_due( $state, $settings ) {
	if ( ! $state['counts'] || $state['resting'] || '' === $settings['url'] ) {
		return null;
	}
	if ( $state['now'] ) {
		return 0.0;
	}
	$quiet = min( $state['last'] + $settings['quiet'], $state['first'] + $settings['longest'] );
	return max( $quiet, $state['not_before'] );
}
