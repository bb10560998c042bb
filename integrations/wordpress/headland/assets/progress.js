/** Asks WordPress for the result of the last call, less and less often, and not while the page is hidden. */
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
	let isAsking = false;
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
		// Logged out, or the nonce of the page has expired: reloading the page helps.
		if (response.status === 400 || response.status === 403) times = TIMES_MOST;
		const { data } = await response.json();
		show(data);
		waitMs = data.build === shown ? waitMs * 1.5 : FIRST_MS;
		waitMs = Math.min(LONGEST_MS, Math.max(waitMs, data.wait * 1000));
		shown = data.build;
		return data.done;
	}

	/** Also when the page becomes visible again: something may have been saved in another one meanwhile. */
	async function tick() {
		clearTimeout(timer);
		if (isAsking || document.hidden || times >= TIMES_MOST) return;
		isAsking = true;
		const isOver = await ask().catch(() => {
			waitMs = Math.min(LONGEST_MS, waitMs * 2);
			return false;
		});
		isAsking = false;
		if (!isOver) timer = setTimeout(tick, waitMs);
	}

	document.addEventListener('visibilitychange', tick);
	tick();
})();
