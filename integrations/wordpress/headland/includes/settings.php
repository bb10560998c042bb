<?php
/**
 * What the operator chose: the webhook's URL, what calls it, and how long to wait.
 *
 * One option holds all of it as an array and is not loaded with every page. The URL holds a token, so it is a secret;
 * as part of an array it is not shown on WordPress' own list of all options either.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

const HEADLAND_QUIET_AT_MOST   = 300;
const HEADLAND_LONGEST_AT_MOST = 900;

/**
 * The settings, with defaults for what was never set.
 *
 * @param bool $is_fresh Whether to read them from the database again, as a process that lives long must.
 * @return array
 */
function headland_settings( $is_fresh = false ) {
	if ( $is_fresh ) {
		wp_cache_delete( 'headland_settings', 'options' );
	}
	$saved = get_option( 'headland_settings' );
	return array_merge( headland_default_settings(), is_array( $saved ) ? $saved : array() );
}

/**
 * The settings of a new installation. `post_types` is null until a user chooses: until then all offered types count.
 *
 * @return array
 */
function headland_default_settings() {
	return array(
		'url'        => '',
		'actions'    => array_keys( headland_actions() ),
		'post_types' => null,
		'quiet'      => 5,
		'longest'    => 60,
	);
}

/**
 * The content actions that may call the webhook, and what they are called on the settings page.
 *
 * @return array
 */
function headland_actions() {
	return array(
		'publish'   => __( 'Content is published', 'headland' ),
		'update'    => __( 'Published content is updated', 'headland' ),
		'unpublish' => __( 'Published content is unpublished, trashed or deleted', 'headland' ),
		'terms'     => __( 'A category, tag or other term is created, changed or deleted', 'headland' ),
		'menus'     => __( 'A menu is changed', 'headland' ),
	);
}

/**
 * The post types that are offered: those that editors see and a front end can read.
 *
 * @return array Labels by name.
 */
function headland_post_types() {
	$offered = array();
	foreach ( get_post_types( array( 'show_ui' => true ), 'objects' ) as $type ) {
		$is_content  = ! $type->_builtin || in_array( $type->name, array( 'post', 'page' ), true );
		$is_readable = $type->public || $type->show_in_rest || ! empty( $type->show_in_graphql );
		if ( $is_content && $is_readable ) {
			$offered[ $type->name ] = $type->labels->name;
		}
	}
	return $offered;
}

/**
 * Takes what the form sent. A bad URL is named, and the one before stays.
 *
 * @param mixed $given What was sent.
 * @return array
 */
function headland_sanitize_settings( $given ) {
	$given    = is_array( $given ) ? $given : array();
	$settings = headland_settings();

	if ( isset( $given['url'] ) && is_string( $given['url'] ) ) {
		// Not sanitize_text_field(), which deletes percent escapes and would so change a token.
		$url = sanitize_url( trim( $given['url'] ), array( 'http', 'https' ) );
		if ( '' === $url && '' !== trim( $given['url'] ) || '' !== $url && ! wp_parse_url( $url, PHP_URL_HOST ) ) {
			add_settings_error( 'headland_settings', 'headland_url', __( 'The webhook URL was not saved: it must begin with http:// or https:// and name a host.', 'headland' ) );
		} else {
			$settings['url'] = $url;
		}
	}

	$settings['actions'] = headland_chosen_of( $given, 'actions', array_keys( headland_actions() ) );
	if ( isset( $given['post_types'] ) ) {
		$settings['post_types'] = headland_chosen_of( $given, 'post_types', array_keys( headland_post_types() ) );
	}
	$settings['quiet']   = headland_seconds_of( $given, 'quiet', $settings['quiet'], HEADLAND_QUIET_AT_MOST );
	$settings['longest'] = headland_seconds_of( $given, 'longest', $settings['longest'], HEADLAND_LONGEST_AT_MOST );
	return $settings;
}

/**
 * The entries of a list that are known.
 *
 * @param array  $given What was sent.
 * @param string $key   The list's name.
 * @param array  $known What may be in it.
 * @return array
 */
function headland_chosen_of( $given, $key, $known ) {
	$list = isset( $given[ $key ] ) && is_array( $given[ $key ] ) ? $given[ $key ] : array();
	return array_values( array_intersect( $known, array_map( 'sanitize_key', array_filter( $list, 'is_string' ) ) ) );
}

/**
 * A number of seconds within its bounds, or the one before.
 *
 * @param array  $given   What was sent.
 * @param string $key     The number's name.
 * @param int    $before  The number before.
 * @param int    $max     The largest.
 * @return int
 */
function headland_seconds_of( $given, $key, $before, $max ) {
	if ( ! isset( $given[ $key ] ) || ! is_numeric( $given[ $key ] ) ) {
		return $before;
	}
	return min( $max, max( 0, (int) $given[ $key ] ) );
}

/**
 * Makes the option without autoload: WordPress' own form would make it with.
 */
function headland_make_settings() {
	if ( false === get_option( 'headland_settings' ) ) {
		add_option( 'headland_settings', array(), '', 'no' );
	}
}
register_activation_hook( HEADLAND_FILE, 'headland_make_settings' );
add_action( 'admin_init', 'headland_make_settings', 5 );
