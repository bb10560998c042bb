<?php
/**
 * Plugin Name:       Headland
 * Description:       Rebuilds a headless front end when published content changes: many saves are one call, and no save waits for it.
 * Version:           0.3.0
 * Requires at least: 6.1
 * Requires PHP:      7.4
 * License:           Apache-2.0
 * License URI:       https://www.apache.org/licenses/LICENSE-2.0
 * Text Domain:       headland
 *
 * From a save to a call: changes.php notes what an editor changed, state.php keeps it in one row of the database,
 * worker.php waits in a request of its own until no more changes are saved, and call.php calls the webhook once, if
 * place.php allows it. progress.php asks for the state of the build.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

define( 'HEADLAND_FILE', __FILE__ );
define( 'HEADLAND_VERSION', '0.3.0' );

require_once __DIR__ . '/includes/settings.php';
require_once __DIR__ . '/includes/state.php';
require_once __DIR__ . '/includes/lease.php';
require_once __DIR__ . '/includes/place.php';
require_once __DIR__ . '/includes/call.php';
require_once __DIR__ . '/includes/worker.php';
require_once __DIR__ . '/includes/changes.php';
require_once __DIR__ . '/includes/content.php';

if ( is_admin() ) {
	require_once __DIR__ . '/includes/progress.php';
	require_once __DIR__ . '/includes/status.php';
	require_once __DIR__ . '/includes/settings-page.php';
	require_once __DIR__ . '/includes/dashboard.php';
	require_once __DIR__ . '/includes/polling.php';
}

if ( defined( 'WP_CLI' ) && WP_CLI ) {
	require_once __DIR__ . '/includes/cli.php';
}
