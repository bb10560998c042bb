const { hostname, port, protocol } = new URL(process.env.WORDPRESS_URL ?? 'https://wordpress.invalid')
const pathname = '/wp-content/uploads/**'

/** The app fetches and resizes images of WordPress, so browsers never call WordPress. */
export default {
  images: {
    remotePatterns: [{ protocol: protocol.slice(0, -1), hostname, port, pathname }],
    // A WordPress on a private network has a private address. The pattern above still names the only host.
    dangerouslyAllowLocalIP: true,
  },
}
