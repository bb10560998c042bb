<?php
/**
 * The browser asks WordPress for the state of the build, and WordPress asks Headland: the webhook's URL stays on the
 * server.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

add_action( 'admin_enqueue_scripts', 'headland_enqueue_polling' );
add_action( 'wp_ajax_headland_progress', 'headland_progress_request' );

/**
 * Adds the script where the status is shown, for those who may see it.
 *
 * @param string $page The page that is shown.
 */
function headland_enqueue_polling( $page ) {
	$is_shown = in_array( $page, array( 'index.php', 'settings_page_headland' ), true );
	if ( ! $is_shown || ! current_user_can( 'manage_options' ) || '' === headland_settings()['url'] ) {
		return;
	}
	wp_enqueue_script( 'headland-progress', plugins_url( 'assets/progress.js', HEADLAND_FILE ), array(), HEADLAND_VERSION, true );
	$given = array(
		'url'   => admin_url( 'admin-ajax.php' ),
		'nonce' => wp_create_nonce( 'headland_progress' ),
	);
	wp_add_inline_script( 'headland-progress', 'window.headlandProgress = ' . wp_json_encode( $given, JSON_HEX_TAG | JSON_HEX_AMP ) . ';', 'before' );
}

/**
 * Answers with what the status says now, as texts and links.
 */
function headland_progress_request() {
	check_ajax_referer( 'headland_progress' );
	if ( ! current_user_can( 'manage_options' ) ) {
		wp_send_json_error( null, 403 );
	}
	$progress = headland_ask_progress();
	$state    = headland_read_state();
	$is_still = null === headland_due( $state, headland_settings() );
	wp_send_json_success(
		array_merge(
			headland_status_now( $progress ),
			array(
				// Nothing is to be sent, and what was sent is over: there is nothing to ask for any more.
				'done' => $is_still && ( null === $progress || $progress['is_final'] ),
				// While it waits for further changes, there is no news before its time.
				'wait' => $progress && 'WAITING' === $progress['state'] ? max( 0, $progress['until'] - time() ) : 0,
			)
		)
	);
}
