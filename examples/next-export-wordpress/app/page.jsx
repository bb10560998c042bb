const POSTS = `${process.env.WORDPRESS_URL}/wp-json/wp/v2/posts?per_page=20&_fields=id,title`

async function posts(options) {
  const response = await fetch(POSTS, options)
  if (!response.ok) throw new Error(`WordPress answered ${response.status}`)
  return response.json()
}

function List({ name, items }) {
  return (
    <section id={name}>
      <h2>{name}</h2>
      <ul>
        {items.map(({ id, title }) => (
          <li key={id}>{title.rendered}</li>
        ))}
      </ul>
    </section>
  )
}

/** The same posts twice: as Next.js asks by itself, and as it asks when told to keep the answer for as long as it can. */
export default async function Home() {
  const [plain, kept] = await Promise.all([posts(), posts({ cache: 'force-cache' })])
  return (
    <main>
      <h1>Posts of WordPress</h1>
      <List name="plain" items={plain} />
      <List name="force-cache" items={kept} />
    </main>
  )
}
