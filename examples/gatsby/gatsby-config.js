module.exports = {
  siteMetadata: { title: 'Gatsby example' },
  jsxRuntime: 'automatic',
}
