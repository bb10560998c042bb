import { defineConfig } from 'vitepress'

export default defineConfig({
  title: 'VitePress example',
  cleanUrls: true,
  themeConfig: { nav: [{ text: 'About', link: '/about' }] },
})
