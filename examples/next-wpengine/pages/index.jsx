export default function Home() {
  return <h1>An app with the packages of WP Engine</h1>
}
