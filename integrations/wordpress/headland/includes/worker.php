<?php
/**
 * The worker: waits until no more changes are saved, calls the webhook, and checks whether something changed meanwhile.
 *
 * It is a request of WordPress to itself, so no save waits for it. There is one at a time: it has a lease on the state,
 * and releases it only while there is nothing to send. Where WordPress cannot call itself, the request that saved does
 * the work if its answer is sent already (PHP-FPM, LiteSpeed), and else WP-Cron. WP-Cron also takes over from a worker
 * that was killed.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

/** After this time a worker starts a new one in its place: many hosts end a process after a minute. */
const HEADLAND_WORKER_SECONDS = 45;

/** How long a save may be delayed where WordPress cannot call itself, and how long a key for a worker is valid. */
const HEADLAND_LOOPBACK_SECONDS = 1;
const HEADLAND_KEY_SECONDS      = 300;

/** How long after the call should have been made WP-Cron looks whether it was. */
const HEADLAND_CRON_SECONDS = 30;

const HEADLAND_STARTED = 'headland';

add_action( 'wp_ajax_headland_work', 'headland_work_request' );
add_action( 'wp_ajax_nopriv_headland_work', 'headland_work_request' );
add_action( 'headland_cron', 'headland_cron' );

/**
 * Starts a worker, for a state that says that one is being started.
 */
function headland_start_worker() {
	$is_answered = headland_finish_answer();
	if ( headland_call_worker() ) {
		return;
	}
	// A slow machine may have started one all the same.
	headland_drop_lease( 'starting' );
	if ( $is_answered ) {
		headland_work();
	}
}

/**
 * Sends the answer of this request now, where PHP can.
 *
 * @return bool Whether the answer is out.
 */
function headland_finish_answer() {
	if ( function_exists( 'fastcgi_finish_request' ) ) {
		return fastcgi_finish_request();
	}
	if ( function_exists( 'litespeed_finish_request' ) ) {
		return litespeed_finish_request();
	}
	return false;
}

/**
 * Calls this WordPress, with a key that only it can make.
 *
 * @return bool Whether a worker says that it is there.
 */
function headland_call_worker() {
	$time = (string) time();
	/**
	 * Where WordPress reaches itself, if that is not where visitors reach it.
	 *
	 * @param string $url Address of admin-ajax.php.
	 */
	$url      = apply_filters( 'headland_worker_url', admin_url( 'admin-ajax.php' ) );
	$response = wp_remote_post(
		$url,
		array(
			'timeout'     => HEADLAND_LOOPBACK_SECONDS,
			'redirection' => 0,
			'sslverify'   => apply_filters( 'https_local_ssl_verify', false ), // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WordPress' own, as in its cron.
			'body'        => array(
				'action' => 'headland_work',
				'time'   => $time,
				'key'    => wp_hash( 'headland_work' . $time, 'nonce' ),
			),
		)
	);
	return ! is_wp_error( $response ) && HEADLAND_STARTED === wp_remote_retrieve_body( $response );
}

/**
 * The worker's request: answered at once, and then at work. The caller is WordPress itself and has no user, so the key
 * stands for a nonce.
 */
function headland_work_request() {
	// phpcs:disable WordPress.Security.NonceVerification.Missing -- The key is checked below.
	$time = isset( $_POST['time'] ) ? absint( $_POST['time'] ) : 0;
	$key  = isset( $_POST['key'] ) ? sanitize_key( $_POST['key'] ) : '';
	// phpcs:enable
	if ( abs( time() - $time ) > HEADLAND_KEY_SECONDS || ! hash_equals( wp_hash( 'headland_work' . $time, 'nonce' ), $key ) ) {
		wp_die( '', '', array( 'response' => 403 ) );
	}
	ignore_user_abort( true );
	if ( function_exists( 'set_time_limit' ) ) {
		set_time_limit( 0 );
	}
	while ( ob_get_level() > 0 && ob_end_clean() ) {
		continue;
	}
	// A compressed answer has another length, and one without a length is not over before this process is.
	if ( function_exists( 'apache_setenv' ) ) {
		apache_setenv( 'no-gzip', '1' );
	}
	ini_set( 'zlib.output_compression', '0' ); // phpcs:ignore WordPress.PHP.IniSet -- For this answer alone.
	header( 'Content-Type: text/plain' );
	header( 'Content-Length: ' . strlen( HEADLAND_STARTED ) );
	header( 'Connection: close' );
	echo esc_html( HEADLAND_STARTED );
	flush();
	headland_finish_answer();
	headland_work();
	exit;
}

/**
 * What WP-Cron does: the work that is left, if no worker runs.
 */
function headland_cron() {
	$state = headland_read_state();
	if ( null === headland_due( $state, headland_settings() ) ) {
		return;
	}
	if ( headland_has_worker( $state, microtime( true ) ) ) {
		headland_schedule_cron();
	} else {
		headland_work();
	}
}

/**
 * Lets WP-Cron look after what is to be sent.
 */
function headland_schedule_cron() {
	$due = headland_due( headland_read_state(), headland_settings() );
	// WordPress refuses a second one within ten minutes, and the first will do.
	wp_schedule_single_event( max( time(), (int) $due ) + HEADLAND_CRON_SECONDS, 'headland_cron' );
}

/**
 * Works until there is nothing to send.
 */
function headland_work() {
	$worker = headland_take_lease();
	if ( null === $worker ) {
		return;
	}
	$began = microtime( true );
	for ( ; ; ) {
		$settings = headland_settings( true );
		$state    = headland_read_state();
		if ( $state['worker'] !== $worker ) {
			// It paused for too long, and another worker has the lease.
			return;
		}
		$now = microtime( true );
		$due = headland_due( $state, $settings );
		if ( null === $due ) {
			if ( headland_give_back_lease( $worker, $settings ) ) {
				return;
			}
		} elseif ( $due <= $now ) {
			headland_send( $worker, $settings, $state );
		} elseif ( $now - $began > HEADLAND_WORKER_SECONDS && headland_hand_over( $worker ) ) {
			return;
		} else {
			headland_renew_lease( $worker, $state, $now );
			usleep( (int) ( 1000000 * min( 1, $due - $now ) ) );
		}
	}
}

/**
 * Calls at once, for a user who waits for the result.
 *
 * @return array|null The result; null if a worker runs and calls within a second.
 */
function headland_rebuild_now() {
	headland_change_state(
		function ( $state ) {
			$state               = headland_with_changes( $state, array( 'rebuild' => 1 ), microtime( true ) );
			$state['now']        = true;
			$state['tries']      = 0;
			$state['not_before'] = 0.0;
			return $state;
		}
	);
	$worker = headland_take_lease();
	if ( null === $worker ) {
		return null;
	}
	$settings = headland_settings( true );
	$result   = headland_send( $worker, $settings, headland_read_state() );
	// Something may be left: another change, or the same call once more.
	if ( ! headland_give_back_lease( $worker, $settings ) && ! headland_hand_over( $worker ) ) {
		headland_drop_lease( $worker );
		headland_schedule_cron();
	}
	return $result;
}

/**
 * Calls the webhook for the pending changes, and stores the result.
 *
 * @param string $worker   Who.
 * @param array  $settings The settings.
 * @param array  $state    The state before the call: what comes later is for the next one.
 * @return array The result.
 */
function headland_send( $worker, $settings, $state ) {
	$began   = microtime( true );
	$counts  = $state['counts'];
	$content = $state['content'];
	headland_renew_lease( $worker, $state, INF );
	$result = headland_call( $settings['url'], headland_content_names( $content ) );
	$after  = headland_change_state(
		function ( $state ) use ( $worker, $result, $counts, $content, $began ) {
			if ( $state['worker'] !== $worker ) {
				// Another worker took over, and may have sent the changes of this call: the pending ones are newer.
				return null;
			}
			return $result['ok'] ? headland_after_success( $state, $counts, $content, $began ) : headland_after_failure( $state, $counts, $result );
		}
	);
	update_option(
		'headland_last_call',
		array(
			'time'      => time(),
			'ok'        => $result['ok'],
			'code'      => $result['code'],
			'message'   => $result['message'],
			'operation' => $result['operation'],
			'counts'    => $counts,
			'retry_at'  => ! $result['ok'] && $after && ! $after['resting'] ? (int) $after['not_before'] : 0,
		),
		false
	);
	return $result;
}

/**
 * The state after an accepted call: the changes that it covered are removed, and later ones stay.
 *
 * @param array $state   The state.
 * @param array $counts  What the call stood for.
 * @param array $content The content that it named.
 * @param float $began   When the call began.
 * @return array
 */
function headland_after_success( $state, $counts, $content, $began ) {
	$state['counts']     = headland_counts_since( $state['counts'], $counts );
	$state['content']    = headland_counts_since( $state['content'], $content );
	$state['first']      = $began;
	$state['now']        = isset( $state['counts']['rebuild'] );
	$state['tries']      = 0;
	$state['not_before'] = 0.0;
	return $state;
}

/**
 * The state after a call that failed: to be tried again, or given up until something changes.
 *
 * @param array $state  The state.
 * @param array $counts What the call stood for.
 * @param array $result The result.
 * @return array
 */
function headland_after_failure( $state, $counts, $result ) {
	/**
	 * The waits before a failed call is tried again, in seconds.
	 *
	 * @param int[] $waits One for each try.
	 */
	$waits        = apply_filters( 'headland_retry_waits', array( 5, 15, 45 ) );
	$is_last      = ! $result['can_retry'] || $state['tries'] >= count( $waits );
	$has_more     = (bool) headland_counts_since( $state['counts'], $counts );
	$state['now'] = false;
	if ( $is_last && ! $has_more ) {
		$state['resting'] = true;
		return $state;
	}
	// A change that came meanwhile has tries of its own.
	$tries               = $is_last ? 0 : $state['tries'];
	$state['tries']      = $is_last ? 0 : $tries + 1;
	$state['not_before'] = microtime( true ) + max( $result['wait'], $result['can_retry'] ? $waits[ $tries ] ?? 0 : 0 );
	return $state;
}

/**
 * What was counted after a call began.
 *
 * @param array $counted All of it, now.
 * @param array $counts  What the call stood for.
 * @return array
 */
function headland_counts_since( $counted, $counts ) {
	$since = array();
	foreach ( $counted as $name => $count ) {
		$more = $count - ( $counts[ $name ] ?? 0 );
		if ( $more > 0 ) {
			$since[ $name ] = $more;
		}
	}
	return $since;
}

/**
 * Lets a new worker continue, if one can be started.
 *
 * @param string $worker Who.
 * @return bool Whether this process is done.
 */
function headland_hand_over( $worker ) {
	$given = headland_change_state(
		function ( $state ) use ( $worker ) {
			return $state['worker'] === $worker ? headland_with_worker( $state, 'starting', microtime( true ) + HEADLAND_START_SECONDS ) : null;
		}
	);
	if ( ! $given || headland_call_worker() ) {
		return true;
	}
	$taken = headland_change_state(
		function ( $state ) use ( $worker ) {
			return 'starting' === $state['worker'] ? headland_with_worker( $state, $worker, microtime( true ) + HEADLAND_LEASE_SECONDS ) : null;
		}
	);
	return ! $taken;
}
