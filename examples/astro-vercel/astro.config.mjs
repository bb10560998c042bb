import vercel from '@astrojs/vercel'
import { defineConfig } from 'astro/config'

export default defineConfig({
  output: 'server',
  adapter: vercel({ isr: { expiration: 60 }, imageService: true, middlewareMode: 'edge' }),
})
