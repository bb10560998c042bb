<?php
/**
 * The result of the last call: Headland is asked under the webhook's own URL, whose token may read the operation that
 * the call returned, and nothing else. An older Headland does not have this; then the operation's name is shown.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

/** How many seconds an answer is reused: several people may have the dashboard open. */
const HEADLAND_PROGRESS_SECONDS = 2;

/** The states that Headland knows, and whether each is the last one. */
const HEADLAND_STATES = array(
	'WAITING'   => false,
	'BUILDING'  => false,
	'LIVE'      => true,
	'PURGED'    => true,
	'FAILED'    => true,
	'CANCELLED' => true,
);

/**
 * What is known of the last call's build, without asking.
 *
 * @return array|null
 */
function headland_known_progress() {
	$last  = get_option( 'headland_last_call' );
	$known = get_option( 'headland_progress' );
	return is_array( $last ) && is_array( $known ) && $known['operation'] === $last['operation'] ? $known : null;
}

/**
 * What is known of it now: Headland is asked, unless that was done a moment ago or nothing can change any more.
 *
 * @return array|null
 */
function headland_ask_progress() {
	$last     = get_option( 'headland_last_call' );
	$settings = headland_settings();
	if ( ! is_array( $last ) || ! $last['ok'] || '' === $last['operation'] || '' === $settings['url'] ) {
		return null;
	}
	$known = headland_known_progress();
	if ( $known && ( $known['is_final'] || $known['time'] + HEADLAND_PROGRESS_SECONDS > microtime( true ) ) ) {
		return $known;
	}
	$found = headland_read_operation( $settings['url'], $last['operation'] );
	// A failure to ask says nothing about the build.
	$now = array_merge( $known ?? array( 'state' => '' ), $found, array( 'operation' => $last['operation'], 'time' => microtime( true ) ) );
	update_option( 'headland_progress', $now, false );
	return $now;
}

/**
 * Asks Headland once.
 *
 * @param string $url       The webhook's URL.
 * @param string $operation The name of the operation.
 * @return array What is new; is_final where it makes no sense to ask again.
 */
function headland_read_operation( $url, $operation ) {
	$address  = headland_operation_url( $url, $operation );
	$response = headland_at_place(
		$address,
		function () use ( $address ) {
			return wp_safe_remote_get(
				$address,
				array(
					'timeout'             => HEADLAND_CALL_SECONDS,
					'redirection'         => 0,
					'limit_response_size' => 65536,
					// WordPress would send the URL, with its token, as Referer; an empty one is not sent at all.
					'headers'             => array( 'Referer' => '' ),
				)
			);
		}
	);
	$code = null === $response || is_wp_error( $response ) ? 0 : (int) wp_remote_retrieve_response_code( $response );
	// The network and a busy service may be better in a moment.
	if ( null !== $response && ( 0 === $code || 408 === $code || 429 === $code || $code >= 500 ) ) {
		return array( 'is_final' => false );
	}
	// Any other answer stays as it is: it is an older Headland, the URL was regenerated, or the operation is forgotten.
	if ( 200 !== $code ) {
		return headland_no_progress();
	}
	$answer = json_decode( wp_remote_retrieve_body( $response ), true );
	return headland_progress_in( is_array( $answer ) ? $answer : array() );
}

/**
 * Where an operation is read: below the webhook, with the same query.
 *
 * @param string $url       The webhook's URL.
 * @param string $operation The name of the operation.
 * @return string
 */
function headland_operation_url( $url, $operation ) {
	$parts = explode( '?', $url, 2 );
	$id    = rawurlencode( (string) substr( (string) strrchr( '/' . $operation, '/' ), 1 ) );
	return rtrim( $parts[0], '/' ) . "/operations/$id" . ( isset( $parts[1] ) ? "?$parts[1]" : '' );
}

/**
 * Nothing is known of the build, and nothing will be.
 *
 * @return array
 */
function headland_no_progress() {
	return array(
		'state'     => '',
		'is_final'  => true,
		'build_url' => '',
	);
}

/**
 * An answer as it is kept: known states, text without tags, and addresses of web pages.
 *
 * @param array $answer The answer of Headland.
 * @return array
 */
function headland_progress_in( $answer ) {
	$state = isset( $answer['state'] ) && is_string( $answer['state'] ) ? $answer['state'] : '';
	if ( ! isset( HEADLAND_STATES[ $state ] ) ) {
		return headland_no_progress();
	}
	$text = function ( $field ) use ( $answer ) {
		return isset( $answer[ $field ] ) && is_string( $answer[ $field ] ) ? substr( sanitize_text_field( $answer[ $field ] ), 0, 500 ) : '';
	};
	$page = function ( $field ) use ( $answer ) {
		return isset( $answer[ $field ] ) && is_string( $answer[ $field ] ) ? esc_url_raw( $answer[ $field ], array( 'http', 'https' ) ) : '';
	};
	return array(
		'state'     => $state,
		'is_final'  => HEADLAND_STATES[ $state ],
		'until'     => (int) strtotime( $text( 'waitingUntil' ) ),
		'reason'    => $text( 'reason' ),
		'message'   => $text( 'message' ),
		'build_url' => $page( 'buildUrl' ),
		'site_url'  => $page( 'siteUrl' ),
	);
}

/**
 * The state of the build, in words.
 *
 * @param array|null $progress  What is known of it.
 * @param string     $operation The name of the operation.
 * @return string
 */
function headland_words_of_progress( $progress, $operation ) {
	switch ( $progress['state'] ?? '' ) {
		case 'WAITING':
			return $progress['until'] > time()
				/* translators: %s: a time of the day. */
				? sprintf( __( 'waiting until %s, in case more changes come', 'headland' ), wp_date( 'H:i:s', $progress['until'] ) )
				: __( 'waiting for its turn', 'headland' );
		case 'BUILDING':
			return __( 'building', 'headland' );
		case 'LIVE':
			return __( 'live', 'headland' );
		case 'PURGED':
			return __( 'the cache is purged; nothing is built', 'headland' );
		case 'CANCELLED':
			return __( 'cancelled in Headland', 'headland' );
		case 'FAILED':
			/* translators: 1: why, as a name, 2: why, in words. */
			return sprintf( __( 'failed (%1$s): %2$s Visitors get what they got before.', 'headland' ), $progress['reason'], $progress['message'] );
		default:
			return $operation;
	}
}

/**
 * The pages that lead on.
 *
 * @param array|null $progress What is known of the build.
 * @return array Of text and url.
 */
function headland_links_of( $progress ) {
	$links = array();
	if ( 'LIVE' === ( $progress['state'] ?? '' ) && '' !== $progress['site_url'] ) {
		$links[] = array(
			'text' => __( 'Open the site', 'headland' ),
			'url'  => $progress['site_url'],
		);
	}
	if ( '' !== ( $progress['build_url'] ?? '' ) ) {
		$links[] = array(
			'text' => __( 'Show the build', 'headland' ),
			'url'  => $progress['build_url'],
		);
	}
	return $links;
}
