<?php
/**
 * The command `wp headland rebuild`.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

WP_CLI::add_command( 'headland rebuild', 'headland_cli_rebuild', array( 'shortdesc' => 'Calls the Headland webhook now.' ) );

/**
 * Calls the webhook now, and prints the result.
 */
function headland_cli_rebuild() {
	$settings = headland_settings();
	if ( '' === $settings['url'] ) {
		WP_CLI::error( __( 'No webhook URL is set, so nothing is called.', 'headland' ) );
	}
	$result = headland_rebuild_now();
	if ( null === $result ) {
		WP_CLI::success( __( 'A call is on its way.', 'headland' ) );
	} elseif ( $result['ok'] ) {
		/* translators: 1: HTTP status code, 2: name of an operation. */
		WP_CLI::success( sprintf( __( 'Headland took it (HTTP %1$d). %2$s', 'headland' ), $result['code'], $result['operation'] ) );
	} else {
		WP_CLI::error( $result['message'] );
	}
}
