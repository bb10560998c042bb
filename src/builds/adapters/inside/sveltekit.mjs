/** Replaces an adapter for another host, whose options have no effect here. */
import adapter from '@sveltejs/adapter-node'

export default () => adapter()
