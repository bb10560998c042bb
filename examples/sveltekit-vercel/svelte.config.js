import adapter from '@sveltejs/adapter-vercel'

export default {
  kit: {
    adapter: adapter({ runtime: 'edge', regions: ['fra1'], images: { sizes: [640], domains: [] } }),
  },
}
