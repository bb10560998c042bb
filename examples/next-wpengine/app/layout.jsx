export const metadata = { title: 'Next example with the packages of WP Engine' }

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
