/** In place of an adapter for another host, whose options mean nothing here. */
import adapter from '@sveltejs/adapter-node'

export default () => adapter()
