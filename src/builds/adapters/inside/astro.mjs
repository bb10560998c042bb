/**
 * Replaces an adapter for another host, whose options have no effect here. Like most of those, and unlike the adapter for Node,
 * it makes no server for an app that renders nothing on request.
 */
import node from '@astrojs/node'

export default function adapter() {
  const { hooks, ...integration } = node({ mode: 'standalone' })
  // Before Astro 5 the app itself sets the output.
  const isFiles = ({ buildOutput, config }) => (buildOutput ?? config.output) === 'static'
  let hasServer = false
  return {
    ...integration,
    hooks: {
      ...hooks,
      'astro:config:setup': (given) =>
        hooks['astro:config:setup']?.({
          ...given,
          // The server handles redirects, which is switched on below once it is known that there is one.
          updateConfig: ({ build, ...config }) => given.updateConfig(config),
        }),
      'astro:config:done': (given) => {
        hasServer = !isFiles(given)
        if (!hasServer) return
        given.config.build.redirects = false
        return hooks['astro:config:done'](given)
      },
      'astro:build:done': (given) => (hasServer ? hooks['astro:build:done']?.(given) : undefined),
    },
  }
}
