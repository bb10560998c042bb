export default function (config) {
  config.addPassthroughCopy('src/robots.txt')
  return { dir: { input: 'src' } }
}
