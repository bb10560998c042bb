export default {
  title: 'Docusaurus example',
  url: 'https://example.com',
  baseUrl: '/',
  presets: [['classic', { blog: false }]],
}
