<?php
/**
 * Removes everything that the plugin wrote, on each site of a network.
 *
 * @package Headland
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

/**
 * Removes what one site has of the plugin.
 */
function headland_uninstall_site() {
	delete_option( 'headland_settings' );
	delete_option( 'headland_state' );
	delete_option( 'headland_last_call' );
	delete_option( 'headland_progress' );
	wp_clear_scheduled_hook( 'headland_cron' );
}

if ( is_multisite() ) {
	$headland_sites = get_sites(
		array(
			'fields' => 'ids',
			'number' => 0,
		)
	);
	foreach ( $headland_sites as $headland_site ) {
		switch_to_blog( $headland_site );
		headland_uninstall_site();
		restore_current_blog();
	}
} else {
	headland_uninstall_site();
}
