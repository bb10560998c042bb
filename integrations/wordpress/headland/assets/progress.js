/** Asks WordPress what became of the last call, less and less often, and not while nobody looks at the page. */
(() => {
	const given = window.headlandProgress;
	const part = (name) => document.getElementById(`headland_${name}`);
	if (!given || !part('build')) return;

	const FIRST_MS = 2000;
	const LONGEST_MS = 30_000;
	/** A dashboard may be open for days. */
	const TIMES_MOST = 400;
	let waitMs = FIRST_MS;
	let times = 0;
	let shown = '';
	let timer;

	/** Text stays text, and an address is one of a web page. */
	function show({ when, time, last, build, links, waiting }) {
		part('when').textContent = when;
		part('when').title = time;
		part('last').textContent = last;
		part('waiting').textContent = waiting;
		part('build').hidden = build === '';
		if (part('build_words').textContent !== build) part('build_words').textContent = build;
		part('links').replaceChildren(...links.filter(({ url }) => /^https?:\/\//i.test(url)).flatMap(linkTo));
	}

	function linkTo({ text, url }) {
		const link = document.createElement('a');
		link.href = url;
		link.textContent = text;
		return [link, ' '];
	}

	async function ask() {
		times++;
		const body = new URLSearchParams({ action: 'headland_progress', _ajax_nonce: given.nonce });
		const response = await fetch(given.url, { method: 'POST', body, credentials: 'same-origin' });
		// Logged out, or the page is so old that its nonce is: a new page can ask again.
		if (response.status === 400 || response.status === 403) return true;
		const { data } = await response.json();
		show(data);
		const isNews = data.build !== shown;
		shown = data.build;
		waitMs = isNews ? FIRST_MS : Math.min(LONGEST_MS, waitMs * 1.5);
		waitMs = Math.min(LONGEST_MS, Math.max(waitMs, data.wait * 1000));
		return data.done;
	}

	async function tick() {
		if (document.hidden) return;
		const isOver = await ask().catch(() => {
			waitMs = Math.min(LONGEST_MS, waitMs * 2);
			return false;
		});
		if (!isOver && times < TIMES_MOST) timer = setTimeout(tick, waitMs);
		else times = TIMES_MOST;
	}

	document.addEventListener('visibilitychange', () => {
		clearTimeout(timer);
		if (!document.hidden && times < TIMES_MOST) timer = setTimeout(tick, 0);
	});
	tick();
})();
