<?php
/**
 * What is going on, in words: the last call, what waits, and a button. Shown on the dashboard and on the settings page.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

add_action( 'admin_post_headland_rebuild', 'headland_rebuild_request' );

/**
 * Prints the last call, what waits, and the button.
 */
function headland_print_status() {
	$settings = headland_settings();
	if ( '' === $settings['url'] ) {
		printf(
			'<p>%s <a href="%s">%s</a></p>',
			esc_html__( 'No webhook URL is set, so nothing is called.', 'headland' ),
			esc_url( headland_settings_url() ),
			esc_html__( 'Set it', 'headland' )
		);
		return;
	}
	$fault = headland_fault_of_constant();
	if ( '' !== $fault ) {
		printf( '<div class="notice notice-error inline"><p>%s</p></div>', esc_html( $fault ) );
	}
	$now = headland_status_now( headland_known_progress() );
	printf(
		'<p><strong>%1$s</strong> <span id="headland_when" title="%2$s">%3$s</span><br><span id="headland_last">%4$s</span></p>',
		esc_html__( 'Last call:', 'headland' ),
		esc_attr( $now['time'] ),
		esc_html( $now['when'] ),
		esc_html( $now['last'] )
	);
	// Names of operations are long and without spaces.
	printf( '<p id="headland_build"%1$s><strong>%2$s</strong> <span id="headland_build_words" role="status" style="overflow-wrap: anywhere">%3$s</span>', '' === $now['build'] ? ' hidden' : '', esc_html__( 'Build:', 'headland' ), esc_html( $now['build'] ) );
	echo ' <span id="headland_links">';
	foreach ( $now['links'] as $link ) {
		printf( '<a href="%s">%s</a> ', esc_url( $link['url'], array( 'http', 'https' ) ), esc_html( $link['text'] ) );
	}
	echo '</span></p>';
	printf( '<p><strong>%s</strong> <span id="headland_waiting">%s</span></p>', esc_html__( 'Waiting:', 'headland' ), esc_html( $now['waiting'] ) );
	printf( '<form method="post" action="%s">', esc_url( admin_url( 'admin-post.php' ) ) );
	echo '<input type="hidden" name="action" value="headland_rebuild">';
	wp_nonce_field( 'headland_rebuild' );
	submit_button( __( 'Rebuild now', 'headland' ), 'secondary', 'headland_rebuild', false );
	echo '</form>';
}

/**
 * Everything that the status says, as texts and links: for the page, and for the browser that asks again.
 *
 * @param array|null $progress What is known of the build.
 * @return array when, time, last, build, links, waiting.
 */
function headland_status_now( $progress ) {
	$last = get_option( 'headland_last_call' );
	$is_called = is_array( $last );
	return array(
		/* translators: %s: a span of time, as "5 minutes". */
		'when'    => $is_called ? sprintf( __( '%s ago', 'headland' ), human_time_diff( $last['time'] ) ) : __( 'none yet', 'headland' ),
		'time'    => $is_called ? wp_date( 'Y-m-d H:i:s', $last['time'] ) : '',
		'last'    => $is_called ? headland_words_of( $last ) : '',
		'build'   => $is_called && $last['ok'] ? headland_words_of_progress( $progress, $last['operation'] ) : '',
		'links'   => $is_called && $last['ok'] ? headland_links_of( $progress ) : array(),
		'waiting' => headland_words_of_waiting( headland_read_state(), headland_settings() ),
	);
}

/**
 * The result of a call, in words.
 *
 * @param array $last The last call.
 * @return string
 */
function headland_words_of( $last ) {
	$total = array_sum( $last['counts'] );
	/* translators: %s: a number. */
	$changes = sprintf( _n( '%s change', '%s changes', $total, 'headland' ), number_format_i18n( $total ) );
	if ( $last['ok'] ) {
		/* translators: 1: HTTP status code, 2: number of changes, as "3 changes". */
		return sprintf( __( 'Headland took it (HTTP %1$d). It stood for %2$s.', 'headland' ), $last['code'], $changes );
	}
	$words = 0 === $last['code']
		/* translators: 1: why, 2: number of changes, as "3 changes". */
		? sprintf( __( 'Failed: %1$s It stood for %2$s.', 'headland' ), $last['message'], $changes )
		/* translators: 1: HTTP status code, 2: why, 3: number of changes, as "3 changes". */
		: sprintf( __( 'Failed (HTTP %1$d): %2$s It stood for %3$s.', 'headland' ), $last['code'], $last['message'], $changes );
	if ( $last['retry_at'] > time() ) {
		/* translators: %s: a span of time, as "15 seconds". */
		$words .= ' ' . sprintf( __( 'It is tried again in %s.', 'headland' ), human_time_diff( time(), $last['retry_at'] ) );
	}
	return $words;
}

/**
 * What waits, in words.
 *
 * @param array $state    The state.
 * @param array $settings The settings.
 * @return string
 */
function headland_words_of_waiting( $state, $settings ) {
	$total = array_sum( $state['counts'] );
	if ( 0 === $total ) {
		return __( 'nothing', 'headland' );
	}
	/* translators: %s: a number. */
	$changes = sprintf( _n( '%s change', '%s changes', $total, 'headland' ), number_format_i18n( $total ) );
	$due     = headland_due( $state, $settings );
	if ( null === $due ) {
		/* translators: %s: number of changes, as "3 changes". */
		return sprintf( __( '%s, until the next one or until you press the button', 'headland' ), $changes );
	}
	$now = microtime( true );
	if ( $due + HEADLAND_CRON_SECONDS < $now && ! headland_has_worker( $state, $now ) ) {
		// The worker died, or never came: this page starts another.
		headland_request_changes( array() );
		/* translators: %s: number of changes, as "3 changes". */
		return sprintf( __( '%s, overdue. WordPress could not call itself in the background; it tries again now.', 'headland' ), $changes );
	}
	/* translators: %s: number of changes, as "3 changes". */
	return sprintf( __( '%s, sent after the quiet period', 'headland' ), $changes );
}

/**
 * The button: calls at once, and shows the result.
 */
function headland_rebuild_request() {
	if ( ! current_user_can( 'manage_options' ) ) {
		wp_die( esc_html__( 'You may not do this.', 'headland' ), '', array( 'response' => 403 ) );
	}
	check_admin_referer( 'headland_rebuild' );
	$settings = headland_settings();
	if ( '' !== $settings['url'] ) {
		headland_rebuild_now();
	}
	$back = wp_get_referer();
	wp_safe_redirect( $back ? $back : admin_url() );
	exit;
}

/**
 * Where the settings are.
 *
 * @return string
 */
function headland_settings_url() {
	return admin_url( 'options-general.php?page=headland' );
}
