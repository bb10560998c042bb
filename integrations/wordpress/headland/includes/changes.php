<?php
/**
 * What editors change, and whether it counts. Drafts, autosaves and revisions never do.
 *
 * The first change of a request is noted at once, so that it is known even if the request dies; the others, and that the
 * request is over, at its end. Nothing is sent from here.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

add_action( 'transition_post_status', 'headland_on_status', 10, 3 );
add_action( 'deleted_post', 'headland_on_deleted_post', 10, 2 );
add_action( 'created_term', 'headland_on_term', 10, 3 );
add_action( 'edited_term', 'headland_on_term', 10, 3 );
add_action( 'delete_term', 'headland_on_term', 10, 3 );
add_action( 'wp_create_nav_menu', 'headland_on_menu' );
add_action( 'wp_update_nav_menu', 'headland_on_menu' );
add_action( 'wp_delete_nav_menu', 'headland_on_menu' );
add_action( 'update_option_headland_settings', 'headland_on_settings', 10, 2 );
// The last priority, so that the answer is written and the shutdown code of other plugins has run.
add_action( 'shutdown', 'headland_end_request', PHP_INT_MAX );

/**
 * A post has a status, maybe the same as before: every save comes by here.
 *
 * @param string  $new_status The status now.
 * @param string  $old_status The status before.
 * @param WP_Post $post       The post.
 */
function headland_on_status( $new_status, $old_status, $post ) {
	if ( 'publish' === $new_status ) {
		headland_on_post( 'publish' === $old_status ? 'update' : 'publish', $post );
	} elseif ( 'publish' === $old_status ) {
		headland_on_post( 'unpublish', $post );
	}
}

/**
 * A post is deleted for good. One that was in the trash was not on the site any more.
 *
 * @param int     $post_id Its number.
 * @param WP_Post $post    The post.
 */
function headland_on_deleted_post( $post_id, $post ) {
	if ( 'publish' === $post->post_status ) {
		headland_on_post( 'unpublish', $post );
	}
}

/**
 * Something happened to a post that is, or was, published.
 *
 * @param string  $action The action.
 * @param WP_Post $post   The post.
 */
function headland_on_post( $action, $post ) {
	// The navigation block keeps its menu as a post.
	if ( 'wp_navigation' === $post->post_type ) {
		headland_note_change( 'menus' );
		return;
	}
	// A synced pattern leaves no trace in the posts that show it.
	if ( 'wp_block' === $post->post_type ) {
		headland_note_for_purge( array( HEADLAND_EVERYTHING ) );
		return;
	}
	$settings = headland_settings();
	$types    = $settings['post_types'] ?? array_keys( headland_post_types() );
	if ( in_array( $post->post_type, $types, true ) ) {
		headland_note_change( $action, headland_names_of_post( $post ) );
	}
}

/**
 * A term is created, changed or deleted.
 *
 * @param int    $term_id  Its number.
 * @param int    $tt_id    Its number in its taxonomy.
 * @param string $taxonomy The taxonomy.
 */
function headland_on_term( $term_id, $tt_id, $taxonomy ) {
	$found = get_taxonomy( $taxonomy );
	if ( $found && ( $found->public || $found->show_in_rest || ! empty( $found->show_in_graphql ) ) && 'nav_menu' !== $taxonomy ) {
		headland_note_change( 'terms', headland_names_of_term( $term_id, $taxonomy ) );
	}
}

/**
 * A menu is changed.
 */
function headland_on_menu() {
	headland_note_change( 'menus' );
}

/**
 * With another URL, what was given up is tried again.
 *
 * @param array $before   The settings before.
 * @param array $settings The settings now.
 */
function headland_on_settings( $before, $settings ) {
	$state = headland_read_state();
	if ( $state['counts'] && ( $before['url'] ?? '' ) !== ( $settings['url'] ?? '' ) ) {
		headland_request_changes( array() );
	}
}

/**
 * Notes a change, if its action calls the webhook.
 *
 * @param string   $action The action.
 * @param string[] $names  The content that changed; empty where that is not known.
 */
function headland_note_change( $action, $names = array() ) {
	$settings = headland_settings();
	if ( '' !== $settings['url'] && in_array( $action, $settings['actions'], true ) ) {
		$names = $names ? $names : array( HEADLAND_EVERYTHING );
		headland_request_names( $names );
		headland_request_changes( array( $action => 1 ), $names );
	}
}

/**
 * The changes of this request that are not in the database yet. With null it returns them and begins anew.
 *
 * @param array|null $more  More of them, on the current site.
 * @param string[]   $names The content that changed; empty where that is not known.
 * @return array By site: in a network one request may change several.
 */
function headland_request_changes( $more, $names = array() ) {
	static $sites = array();
	if ( null === $more ) {
		$handed = $sites;
		$sites  = array();
		return $handed;
	}
	$site = get_current_blog_id();
	if ( ! isset( $sites[ $site ] ) ) {
		$sites[ $site ] = array();
		headland_change_state(
			function ( $state ) use ( $more, $names ) {
				return headland_with_changes( $state, $more, microtime( true ), $names );
			}
		);
		headland_schedule_cron();
		return $sites;
	}
	foreach ( $more as $action => $count ) {
		$sites[ $site ][ $action ] = ( $sites[ $site ][ $action ] ?? 0 ) + $count;
	}
	return $sites;
}

/**
 * The request is over: its content is complete. From here the quiet period counts.
 */
function headland_end_request() {
	$names = headland_request_names( null );
	foreach ( headland_request_changes( null ) as $site => $counts ) {
		$is_other = get_current_blog_id() !== $site;
		if ( $is_other ) {
			switch_to_blog( $site );
		}
		// All of them again: what was sent while the request ran may have been half of it.
		if ( headland_record( $counts, array_keys( $names[ $site ] ?? array() ) ) ) {
			headland_start_worker();
		}
		if ( $is_other ) {
			restore_current_blog();
		}
	}
}
