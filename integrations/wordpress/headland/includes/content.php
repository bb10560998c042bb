<?php
/**
 * Which content a change is about, by names that Headland knows: `wp:post:12@page`, `wp:term:7@category`, `wp:user:2`,
 * `wp:media:9@attachment`. Where a change may show anywhere, as that of a menu, its name is '*', and the call names nothing:
 * then all pages are rendered again.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

const HEADLAND_EVERYTHING = '*';

/** Names in one call. Of more, all pages are rendered again. */
const HEADLAND_NAMES_AT_MOST = 100;

add_action( 'post_updated', 'headland_on_post_updated', 10, 3 );
add_action( 'transition_post_status', 'headland_on_shown', 10, 3 );
add_action( 'set_object_terms', 'headland_on_object_terms', 10, 6 );
add_action( 'deleted_term_relationships', 'headland_on_removed_terms', 10, 3 );
add_action( 'add_attachment', 'headland_on_file' );
add_action( 'attachment_updated', 'headland_on_file' );
add_action( 'delete_attachment', 'headland_on_file' );
add_action( 'added_post_meta', 'headland_on_file_meta', 10, 3 );
add_action( 'updated_post_meta', 'headland_on_file_meta', 10, 3 );
add_action( 'profile_update', 'headland_on_user' );
add_action( 'deleted_user', 'headland_on_user' );
add_action( 'wp_insert_comment', 'headland_on_new_comment', 10, 2 );
add_action( 'edit_comment', 'headland_on_comment' );
add_action( 'transition_comment_status', 'headland_on_comment_status', 10, 3 );
add_action( 'updated_option', 'headland_on_option' );

/**
 * The names of a post and of what it decides about.
 *
 * @param WP_Post $post The post.
 * @return string[]
 */
function headland_names_of_post( $post ) {
	return array( "wp:post:{$post->ID}@{$post->post_type}" );
}

/**
 * The name of a term. Where it is part of the addresses of posts, those change with it.
 *
 * @param int    $term_id  Its number.
 * @param string $taxonomy The taxonomy.
 * @return string[]
 */
function headland_names_of_term( $term_id, $taxonomy ) {
	return headland_is_in_addresses( "%$taxonomy%" ) ? array( HEADLAND_EVERYTHING ) : array( "wp:term:$term_id@$taxonomy" );
}

/**
 * Whether addresses of posts contain this.
 *
 * @param string $part As in the settings of permalinks.
 * @return bool
 */
function headland_is_in_addresses( $part ) {
	return false !== strpos( (string) get_option( 'permalink_structure' ), $part );
}

/**
 * A post was saved. With another place or name its children have other addresses; with another author the
 * pages of both change.
 *
 * @param int     $post_id Its number.
 * @param WP_Post $after   The post now.
 * @param WP_Post $before  The post before.
 */
function headland_on_post_updated( $post_id, $after, $before ) {
	if ( 'publish' !== $after->post_status && 'publish' !== $before->post_status ) {
		return;
	}
	$is_moved = $after->post_name !== $before->post_name || $after->post_parent !== $before->post_parent;
	if ( $is_moved && is_post_type_hierarchical( $after->post_type ) ) {
		headland_request_names( array( HEADLAND_EVERYTHING ) );
	}
	if ( $after->post_author !== $before->post_author ) {
		headland_request_names( array( "wp:user:{$after->post_author}", "wp:user:{$before->post_author}" ) );
	}
}

/**
 * A post is shown, or not any more: the counts and lists of its terms change. Scheduled posts come by here alone.
 *
 * @param string  $new_status The status now.
 * @param string  $old_status The status before.
 * @param WP_Post $post       The post.
 */
function headland_on_shown( $new_status, $old_status, $post ) {
	if ( $new_status !== $old_status && in_array( 'publish', array( $new_status, $old_status ), true ) ) {
		headland_name_terms_of( $post );
	}
}

/**
 * A post is in other terms than before: so are their counts, and the lists of their posts.
 *
 * @param int    $object_id The post.
 * @param array  $terms     Its terms, as they were given.
 * @param int[]  $tt_ids    Their numbers in the taxonomy.
 * @param string $taxonomy  The taxonomy.
 * @param bool   $append    Whether they were added.
 * @param int[]  $old       The numbers before.
 */
function headland_on_object_terms( $object_id, $terms, $tt_ids, $taxonomy, $append, $old ) {
	$before  = array_map( 'intval', (array) $old );
	$now     = array_map( 'intval', (array) $tt_ids );
	$changed = array_merge( array_diff( $now, $before ), $append ? array() : array_diff( $before, $now ) );
	foreach ( $changed as $tt_id ) {
		$term = get_term_by( 'term_taxonomy_id', $tt_id );
		headland_request_names( $term ? headland_names_of_term( $term->term_id, $taxonomy ) : array( HEADLAND_EVERYTHING ) );
	}
}

/**
 * A post is in some terms no more, as before it is deleted.
 *
 * @param int    $object_id The post.
 * @param int[]  $tt_ids    Their numbers in the taxonomy.
 * @param string $taxonomy  The taxonomy.
 */
function headland_on_removed_terms( $object_id, $tt_ids, $taxonomy ) {
	headland_on_object_terms( $object_id, array(), array(), $taxonomy, false, $tt_ids );
}

/**
 * Names all terms of a post.
 *
 * @param WP_Post $post The post.
 */
function headland_name_terms_of( $post ) {
	foreach ( get_object_taxonomies( $post->post_type ) as $taxonomy ) {
		$terms = get_the_terms( $post, $taxonomy );
		foreach ( is_array( $terms ) ? $terms : array() as $term ) {
			headland_request_names( headland_names_of_term( $term->term_id, $taxonomy ) );
		}
	}
}

/**
 * A file of the library is added, changed or deleted.
 *
 * @param int $post_id Its number.
 */
function headland_on_file( $post_id ) {
	headland_note_for_purge( array( "wp:media:$post_id@attachment" ) );
}

/**
 * The text or the sizes of a file are changed without a save: it was edited or replaced.
 *
 * @param int    $meta_id The number of the row.
 * @param int    $post_id The number of the file.
 * @param string $key     The name of what changed.
 */
function headland_on_file_meta( $meta_id, $post_id, $key ) {
	if ( in_array( $key, array( '_wp_attached_file', '_wp_attachment_metadata', '_wp_attachment_image_alt' ), true ) ) {
		headland_on_file( $post_id );
	}
}

/**
 * A user is changed or deleted.
 *
 * @param int $user_id Their number.
 */
function headland_on_user( $user_id ) {
	headland_note_for_purge( headland_is_in_addresses( '%author%' ) ? array( HEADLAND_EVERYTHING ) : array( "wp:user:$user_id" ) );
}

/**
 * A comment came.
 *
 * @param int        $comment_id Its number.
 * @param WP_Comment $comment    The comment.
 */
function headland_on_new_comment( $comment_id, $comment ) {
	if ( '1' === (string) $comment->comment_approved ) {
		headland_on_comment( $comment_id );
	}
}

/**
 * A comment is shown, or not any more.
 *
 * @param string     $new_status The status now.
 * @param string     $old_status The status before.
 * @param WP_Comment $comment    The comment.
 */
function headland_on_comment_status( $new_status, $old_status, $comment ) {
	if ( 'approved' === $new_status || 'approved' === $old_status ) {
		headland_on_comment( $comment->comment_ID );
	}
}

/**
 * A comment is changed. Its post shows how many there are.
 *
 * @param int $comment_id Its number.
 */
function headland_on_comment( $comment_id ) {
	$comment = get_comment( $comment_id );
	$post    = $comment ? get_post( $comment->comment_post_ID ) : null;
	headland_note_for_purge( array_merge( array( "wp:post:$comment_id@comment" ), $post ? headland_names_of_post( $post ) : array() ) );
}

/**
 * A setting of the site is changed that pages show.
 *
 * @param string $option Its name.
 */
function headland_on_option( $option ) {
	$shown = array( 'blogname', 'blogdescription', 'siteurl', 'home', 'show_on_front', 'page_on_front', 'page_for_posts', 'posts_per_page', 'sticky_posts', 'permalink_structure', 'site_icon', 'site_logo', 'WPLANG', 'timezone_string', 'gmt_offset', 'date_format', 'time_format' );
	if ( in_array( $option, $shown, true ) ) {
		headland_note_for_purge( array( HEADLAND_EVERYTHING ) );
	}
}

/**
 * Notes a change that is worth a purge, and not a build.
 *
 * @param string[] $names The content that changed.
 */
function headland_note_for_purge( $names ) {
	$settings = headland_settings();
	if ( preg_match( '#/webhook(?::|%3a)purgeCache#i', $settings['url'] ) ) {
		headland_note_change( 'update', $names );
	}
}

/**
 * The content that this request changed. With null it returns it and begins anew.
 *
 * @param string[]|null $more More of it, on the current site.
 * @return array By site, with the names as keys.
 */
function headland_request_names( $more ) {
	static $sites = array();
	if ( null === $more ) {
		$handed = $sites;
		$sites  = array();
		return $handed;
	}
	$site = get_current_blog_id();
	foreach ( $more as $name ) {
		$sites[ $site ][ $name ] = true;
	}
	return $sites;
}

/**
 * The pending content with more of it. What was pending before names were noted is not known.
 *
 * @param array    $state The state.
 * @param string[] $names The names.
 * @return array A number for each name.
 */
function headland_with_content( $state, $names ) {
	$content = $state['content'];
	if ( $state['counts'] && ! $content ) {
		$names[] = HEADLAND_EVERYTHING;
	}
	foreach ( $names as $name ) {
		$content[ $name ] = ( $content[ $name ] ?? 0 ) + 1;
	}
	return count( $content ) > HEADLAND_NAMES_AT_MOST ? array( HEADLAND_EVERYTHING => array_sum( $content ) ) : $content;
}

/**
 * The names that a call has; none where something is not known.
 *
 * @param array $content A number for each name.
 * @return string[]
 */
function headland_content_names( $content ) {
	return isset( $content[ HEADLAND_EVERYTHING ] ) ? array() : array_map( 'strval', array_keys( $content ) );
}

/**
 * The body of a call.
 *
 * @param string[] $names What changed.
 * @return string
 */
function headland_payload( $names ) {
	return (string) wp_json_encode(
		array(
			'headland' => 1,
			'content'  => $names,
		)
	);
}
