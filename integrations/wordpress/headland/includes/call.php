<?php
/**
 * One call of the webhook, and its result in words, which never contain the URL or its token.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

const HEADLAND_CALL_SECONDS        = 5;
const HEADLAND_RETRY_AFTER_AT_MOST = 300;

/**
 * Calls the webhook once.
 *
 * @param string   $url     The webhook's URL.
 * @param string[] $content What changed, by name; empty where that is not known.
 * @return array ok, code, message, operation, can_retry, wait (seconds that the other side asks for).
 */
function headland_call( $url, $content = array() ) {
	$response = headland_at_place(
		$url,
		function () use ( $url, $content ) {
			return wp_safe_remote_post(
				$url,
				array(
					'timeout'             => HEADLAND_CALL_SECONDS,
					'redirection'         => 0,
					'limit_response_size' => 65536,
					// WordPress would send the URL, with its token, as Referer; an empty one is not sent at all.
					'headers'             => array( 'Referer' => '' ) + ( $content ? array( 'Content-Type' => 'application/json' ) : array() ),
				) + ( $content ? array( 'body' => headland_payload( $content ) ) : array() )
			);
		}
	);
	if ( null === $response ) {
		return headland_failure( headland_why_refused( $url ) );
	}
	return is_wp_error( $response ) ? headland_no_answer( $url, $response ) : headland_answer( $response );
}

/**
 * What a failed call without an answer means.
 *
 * @param string   $url   The webhook's URL.
 * @param WP_Error $error What WordPress says.
 * @return array
 */
function headland_no_answer( $url, $error ) {
	if ( 'http_request_not_executed' === $error->get_error_code() ) {
		return headland_failure(
			sprintf(
				/* translators: %s: host name. */
				__( 'Calls to other hosts are switched off in wp-config.php. Add %s to WP_ACCESSIBLE_HOSTS.', 'headland' ),
				(string) wp_parse_url( $url, PHP_URL_HOST )
			)
		);
	}
	return headland_failure(
		/* translators: %s: message of the network. */
		sprintf( __( 'Headland did not answer: %s.', 'headland' ), rtrim( headland_without_secrets( $url, $error->get_error_message() ), '. ' ) ),
		array( 'can_retry' => true )
	);
}

/**
 * What an answer means.
 *
 * @param array $response WordPress' response.
 * @return array
 */
function headland_answer( $response ) {
	$code = (int) wp_remote_retrieve_response_code( $response );
	if ( $code >= 200 && $code < 300 ) {
		$operation = json_decode( wp_remote_retrieve_body( $response ), true );
		$name      = is_array( $operation ) && isset( $operation['name'] ) && is_string( $operation['name'] ) ? $operation['name'] : '';
		return array(
			'ok'        => true,
			'code'      => $code,
			'message'   => '',
			'operation' => preg_match( '#^[A-Za-z0-9/_.-]{1,300}$#', $name ) ? $name : '',
			'can_retry' => false,
			'wait'      => 0,
		);
	}
	$more = array(
		'code'      => $code,
		'can_retry' => 408 === $code || 429 === $code || $code >= 500,
		'wait'      => headland_retry_after( wp_remote_retrieve_header( $response, 'retry-after' ) ),
	);
	if ( 401 === $code ) {
		return headland_failure( __( 'The URL is no longer valid: copy the current one from Headland.', 'headland' ), $more );
	}
	if ( $code >= 300 && $code < 400 ) {
		return headland_failure( __( 'The URL leads elsewhere, and a call does not follow: enter the address that Headland shows.', 'headland' ), $more );
	}
	if ( 429 === $code ) {
		return headland_failure( __( 'Headland asks for fewer calls.', 'headland' ), $more );
	}
	return headland_failure( __( 'Headland did not take the call.', 'headland' ), $more );
}

/**
 * A failure, in the shape of every result.
 *
 * @param string $message Why, for the dashboard.
 * @param array  $more    What differs from a final failure without an answer.
 * @return array
 */
function headland_failure( $message, $more = array() ) {
	return array_merge(
		array(
			'ok'        => false,
			'code'      => 0,
			'message'   => $message,
			'operation' => '',
			'can_retry' => false,
			'wait'      => 0,
		),
		$more
	);
}

/**
 * Seconds or a date (RFC 9110, section 10.2.3), as seconds from now.
 *
 * @param string|array $value The header.
 * @return int
 */
function headland_retry_after( $value ) {
	$value = is_array( $value ) ? (string) reset( $value ) : (string) $value;
	$wait  = ctype_digit( $value ) ? (int) $value : (int) strtotime( $value ) - time();
	return max( 0, min( HEADLAND_RETRY_AFTER_AT_MOST, $wait ) );
}

/**
 * A message without the URL or any part of its query.
 *
 * @param string $url     The webhook's URL.
 * @param string $message The message.
 * @return string
 */
function headland_without_secrets( $url, $message ) {
	$query   = (string) wp_parse_url( $url, PHP_URL_QUERY );
	$secrets = array( $url, $query );
	wp_parse_str( $query, $values );
	array_walk_recursive(
		$values,
		function ( $value ) use ( &$secrets ) {
			$secrets[] = $value;
		}
	);
	$secrets = array_filter(
		$secrets,
		function ( $secret ) {
			return strlen( $secret ) > 3;
		}
	);
	return str_replace( $secrets, '[secret]', $message );
}
