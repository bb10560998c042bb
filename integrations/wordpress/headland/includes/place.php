<?php
/**
 * Which hosts and ports may be called. In a network, the administrator of any site types the webhook's URL, so WordPress'
 * own rules hold for it: public addresses, and the ports 80, 443 and 8080. The operator opens further places in
 * wp-config.php, each by its host and port.
 *
 * @package Headland
 */

defined( 'ABSPATH' ) || exit;

/**
 * Does something that calls a URL, if it may be called: at a place that the operator opened, or else at the public address
 * that was looked at, and at no other that the name may have a moment later.
 *
 * @param string   $url  The URL.
 * @param callable $work What to do; the call is made with WordPress' own functions.
 * @return mixed What it gives, or null where the URL may not be called.
 */
function headland_at_place( $url, $work ) {
	if ( in_array( headland_place_of( $url ), headland_opened_places(), true ) ) {
		return headland_with_opened( $url, $work );
	}
	$address = headland_public_address( $url );
	return null === $address || ! wp_http_validate_url( $url ) ? null : headland_with_address( $url, $address, $work );
}

/**
 * Host and port of a URL.
 *
 * @param string $url The URL.
 * @return string `host:port`
 */
function headland_place_of( $url ) {
	$parts = wp_parse_url( $url );
	$port  = isset( $parts['scheme'] ) && 'https' === strtolower( $parts['scheme'] ) ? 443 : 80;
	return strtolower( $parts['host'] ?? '' ) . ':' . (int) ( $parts['port'] ?? $port );
}

/**
 * What the operator opened: `HEADLAND_ALLOW_PRIVATE_ADDRESS`, an array, or a text with commas between the places.
 *
 * @return array Of `host:port`.
 */
function headland_opened_places() {
	$given  = defined( 'HEADLAND_ALLOW_PRIVATE_ADDRESS' ) ? (array) HEADLAND_ALLOW_PRIVATE_ADDRESS : array();
	$text   = strtolower( implode( ',', array_filter( $given, 'is_string' ) ) );
	$places = preg_split( '/[\s,]+/', $text, -1, PREG_SPLIT_NO_EMPTY );
	return array_values( preg_grep( '/^[^:]+:\d+$/', $places ) );
}

/**
 * What is wrong with the constant, in words. It was once `true`, which allowed every place that a user typed.
 *
 * @return string Empty where nothing is.
 */
function headland_fault_of_constant() {
	if ( ! defined( 'HEADLAND_ALLOW_PRIVATE_ADDRESS' ) || ! HEADLAND_ALLOW_PRIVATE_ADDRESS || headland_opened_places() ) {
		return '';
	}
	return sprintf(
		/* translators: %s: a line of PHP. */
		__( 'HEADLAND_ALLOW_PRIVATE_ADDRESS opens nothing as it stands in wp-config.php: write which hosts and ports, as in %s', 'headland' ),
		"define( 'HEADLAND_ALLOW_PRIVATE_ADDRESS', '192.168.1.20:3000, headland.internal:443' );"
	);
}

/**
 * Why a URL is not called: because it is private, or because it is not a valid URL.
 *
 * @param string $url The URL.
 * @return string
 */
function headland_why_refused( $url ) {
	$would_do = headland_with_opened(
		$url,
		function () use ( $url ) {
			return (bool) wp_http_validate_url( $url );
		}
	);
	if ( ! $would_do ) {
		return __( 'WordPress cannot call this URL: its host has no address, or it is not a URL that can be called.', 'headland' );
	}
	$place = headland_place_of( $url );
	return sprintf(
		/* translators: 1: host and port, 2: a line of PHP. */
		__( 'WordPress does not call %1$s: the address is private, or the port is none of 80, 443 and 8080. If it is yours, add the line %2$s to wp-config.php, or this place to those that stand there.', 'headland' ),
		$place,
		"define( 'HEADLAND_ALLOW_PRIVATE_ADDRESS', '$place' );"
	);
}

/**
 * Does something with the two filters that open the place of a URL, and no other.
 *
 * @param string   $url  The URL.
 * @param callable $work What to do.
 * @return mixed What it gives.
 */
function headland_with_opened( $url, $work ) {
	$place   = headland_place_of( $url );
	$port    = (int) substr( strrchr( $place, ':' ), 1 );
	$is_ours = function ( $other ) use ( $place ) {
		return headland_place_of( $other ) === $place;
	};
	$host    = function ( $is_external, $host, $other ) use ( $is_ours ) {
		return $is_external || $is_ours( $other );
	};
	$ports   = function ( $ports, $host, $other ) use ( $is_ours, $port ) {
		return $is_ours( $other ) ? array_merge( $ports, array( $port ) ) : $ports;
	};
	add_filter( 'http_request_host_is_external', $host, 10, 3 );
	add_filter( 'http_allowed_safe_ports', $ports, 10, 3 );
	try {
		return $work();
	} finally {
		remove_filter( 'http_request_host_is_external', $host, 10 );
		remove_filter( 'http_allowed_safe_ports', $ports, 10 );
	}
}

/**
 * The address of a URL's host, looked up once, if the whole internet could call it.
 *
 * @param string $url The URL.
 * @return string|null
 */
function headland_public_address( $url ) {
	$address = gethostbyname( trim( (string) wp_parse_url( $url, PHP_URL_HOST ), '.' ) );
	return headland_is_public( $address ) ? $address : null;
}

/**
 * Whether an IPv4 address is one of the internet (RFC 6890). WordPress knows fewer that are not: a cloud's metadata at
 * 169.254.169.254 is none of them.
 *
 * @param string $address The address; what is none is not public.
 * @return bool
 */
function headland_is_public( $address ) {
	$flags = FILTER_FLAG_IPV4 | FILTER_FLAG_NO_PRIV_RANGE | FILTER_FLAG_NO_RES_RANGE;
	if ( ! filter_var( $address, FILTER_VALIDATE_IP, $flags ) ) {
		return false;
	}
	$number = ip2long( $address );
	foreach ( array( '100.64.0.0/10', '192.0.0.0/24', '198.18.0.0/15', '224.0.0.0/4' ) as $range ) {
		list( $first, $bits ) = explode( '/', $range );
		if ( ip2long( $first ) >> 32 - $bits === $number >> 32 - $bits ) {
			return false;
		}
	}
	return true;
}

/**
 * Does something while calls of a URL go to one address.
 *
 * @param string   $url     The URL.
 * @param string   $address The address.
 * @param callable $work    What to do.
 * @return mixed What it gives.
 */
function headland_with_address( $url, $address, $work ) {
	$port = substr( strrchr( headland_place_of( $url ), ':' ), 1 );
	$curl = function ( $handle, $request, $other ) use ( $url, $address, $port ) {
		if ( $other === $url ) {
			// phpcs:ignore WordPress.WP.AlternativeFunctions.curl_curl_setopt
			curl_setopt( $handle, CURLOPT_CONNECT_TO, array( "::$address:$port" ) );
		}
	};
	// Where there is no curl. A server that speaks TLS shows by its certificate that it is the one.
	$socket = function ( &$socket ) use ( $address, $port ) {
		if ( 0 === strpos( $socket, 'tcp://' ) ) {
			$socket = "tcp://$address:$port";
		}
	};
	add_action( 'http_api_curl', $curl, 10, 3 );
	add_action( 'requests-fsockopen.remote_socket', $socket );
	try {
		return $work();
	} finally {
		remove_action( 'http_api_curl', $curl, 10 );
		remove_action( 'requests-fsockopen.remote_socket', $socket );
	}
}
