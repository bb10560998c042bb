export default { output: 'standalone' }
