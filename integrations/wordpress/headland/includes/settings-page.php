<?php
/**
 * Settings → Headland, by WordPress' settings API.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

add_action( 'admin_init', 'headland_register_settings' );
add_action( 'admin_menu', 'headland_add_page' );
add_action( 'admin_enqueue_scripts', 'headland_enqueue_script' );
add_filter( 'plugin_action_links_' . plugin_basename( HEADLAND_FILE ), 'headland_add_link' );

/**
 * Says what the page holds.
 */
function headland_register_settings() {
	register_setting(
		'headland',
		'headland_settings',
		array(
			'type'              => 'array',
			'sanitize_callback' => 'headland_sanitize_settings',
			'show_in_rest'      => false,
		)
	);
	add_settings_section( 'headland', '', '__return_false', 'headland' );
	add_settings_field( 'headland_url', __( 'Webhook URL', 'headland' ), 'headland_print_url', 'headland', 'headland', array( 'label_for' => 'headland_url' ) );
	add_settings_field( 'headland_actions', __( 'Call it when', 'headland' ), 'headland_print_actions', 'headland', 'headland' );
	add_settings_field( 'headland_post_types', __( 'Content types', 'headland' ), 'headland_print_post_types', 'headland', 'headland' );
	add_settings_field( 'headland_quiet', __( 'Quiet period', 'headland' ), 'headland_print_quiet', 'headland', 'headland', array( 'label_for' => 'headland_quiet' ) );
	add_settings_field( 'headland_longest', __( 'Longest wait', 'headland' ), 'headland_print_longest', 'headland', 'headland', array( 'label_for' => 'headland_longest' ) );
}

/**
 * Adds the page to the menu.
 */
function headland_add_page() {
	add_options_page( __( 'Headland', 'headland' ), __( 'Headland', 'headland' ), 'manage_options', 'headland', 'headland_print_page' );
}

/**
 * Adds the script behind the button "Show".
 *
 * @param string $page The page that is shown.
 */
function headland_enqueue_script( $page ) {
	if ( 'settings_page_headland' === $page ) {
		wp_enqueue_script( 'headland-settings', plugins_url( 'assets/settings.js', HEADLAND_FILE ), array(), HEADLAND_VERSION, true );
	}
}

/**
 * Adds a link beside "Deactivate".
 *
 * @param array $links The links.
 * @return array
 */
function headland_add_link( $links ) {
	return array_merge( array( sprintf( '<a href="%s">%s</a>', esc_url( headland_settings_url() ), esc_html__( 'Settings', 'headland' ) ) ), $links );
}

/**
 * Prints the page.
 */
function headland_print_page() {
	echo '<div class="wrap">';
	printf( '<h1>%s</h1>', esc_html( get_admin_page_title() ) );
	echo '<form method="post" action="options.php">';
	settings_fields( 'headland' );
	do_settings_sections( 'headland' );
	submit_button();
	echo '</form>';
	printf( '<hr><h2>%s</h2>', esc_html__( 'What is going on', 'headland' ) );
	headland_print_status();
	echo '</div>';
}

/**
 * Prints the field of the URL: a secret, so its text is hidden until the user shows it.
 */
function headland_print_url() {
	$settings = headland_settings();
	printf(
		'<input type="password" id="headland_url" name="headland_settings[url]" value="%1$s" class="large-text code" style="max-width: 40em" autocomplete="off" spellcheck="false" aria-describedby="headland_url_about"> <button type="button" class="button" id="headland_show" aria-pressed="false" aria-controls="headland_url">%2$s</button>',
		esc_attr( $settings['url'] ),
		esc_html__( 'Show', 'headland' )
	);
	printf( '<p class="description" id="headland_url_about">%s</p>', esc_html__( 'The Rebuild URL of the environment, as Headland shows it. It works without a password: keep it secret.', 'headland' ) );
}

/**
 * Prints the content actions.
 */
function headland_print_actions() {
	headland_print_choices( 'actions', headland_actions(), headland_settings()['actions'], __( 'Call it when', 'headland' ) );
	printf( '<p class="description">%s</p>', esc_html__( 'Drafts, autosaves and revisions never call.', 'headland' ) );
}

/**
 * Prints the content types.
 */
function headland_print_post_types() {
	$types = headland_post_types();
	headland_print_choices( 'post_types', $types, headland_settings()['post_types'] ?? array_keys( $types ), __( 'Content types', 'headland' ) );
	// Without it, a form in which none is chosen would look like one that does not ask.
	echo '<input type="hidden" name="headland_settings[post_types][]" value="">';
}

/**
 * Prints a list of boxes.
 *
 * @param string $name    Name of the list.
 * @param array  $choices Labels by name.
 * @param array  $chosen  Names.
 * @param string $legend  What the list is, for screen readers.
 */
function headland_print_choices( $name, $choices, $chosen, $legend ) {
	printf( '<fieldset><legend class="screen-reader-text">%s</legend>', esc_html( $legend ) );
	foreach ( $choices as $value => $label ) {
		printf(
			'<label><input type="checkbox" name="headland_settings[%1$s][]" value="%2$s"%3$s> %4$s</label><br>',
			esc_attr( $name ),
			esc_attr( $value ),
			checked( in_array( $value, $chosen, true ), true, false ),
			esc_html( $label )
		);
	}
	echo '</fieldset>';
}

/**
 * Prints the quiet period.
 */
function headland_print_quiet() {
	headland_print_seconds( 'quiet', HEADLAND_QUIET_AT_MOST, __( 'The call is made when nothing was changed for so long, and stands for all changes before. 0 calls at once after each save.', 'headland' ) );
}

/**
 * Prints the longest wait.
 */
function headland_print_longest() {
	headland_print_seconds( 'longest', HEADLAND_LONGEST_AT_MOST, __( 'However many changes follow each other, the first of them waits no longer than this.', 'headland' ) );
}

/**
 * Prints a number of seconds.
 *
 * @param string $key     Name of the setting.
 * @param int    $max     The largest.
 * @param string $about   What it does.
 */
function headland_print_seconds( $key, $max, $about ) {
	printf(
		'<input type="number" id="headland_%1$s" name="headland_settings[%1$s]" value="%2$d" min="0" max="%3$d" step="1" class="small-text" aria-describedby="headland_%1$s_about"> %4$s<p class="description" id="headland_%1$s_about">%5$s</p>',
		esc_attr( $key ),
		absint( headland_settings()[ $key ] ),
		absint( $max ),
		esc_html__( 'seconds', 'headland' ),
		esc_html( $about )
	);
}
