<?php
/**
 * The widget on the dashboard, and a notice where the last call failed.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

add_action( 'wp_dashboard_setup', 'headland_add_widget' );
add_action( 'admin_notices', 'headland_print_notice' );

/**
 * Adds the widget, for those who may change the settings.
 */
function headland_add_widget() {
	if ( current_user_can( 'manage_options' ) ) {
		wp_add_dashboard_widget( 'headland', __( 'Headland', 'headland' ), 'headland_print_status' );
	}
}

/**
 * Prints the notice where content is managed. The dashboard and the settings page say it themselves.
 */
function headland_print_notice() {
	$screen = get_current_screen();
	$last   = get_option( 'headland_last_call' );
	if ( ! current_user_can( 'manage_options' ) || ! $screen || ! in_array( $screen->base, array( 'dashboard', 'edit', 'plugins' ), true ) ) {
		return;
	}
	if ( ! is_array( $last ) || $last['ok'] || '' === headland_settings()['url'] ) {
		return;
	}
	printf(
		'<div class="notice notice-error is-dismissible"><p>%s %s <a href="%s">%s</a></p></div>',
		esc_html__( 'The headless front end was not rebuilt.', 'headland' ),
		esc_html( headland_words_of( $last ) ),
		esc_url( headland_settings_url() ),
		esc_html__( 'Headland settings', 'headland' )
	);
}
