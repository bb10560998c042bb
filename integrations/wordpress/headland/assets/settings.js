/** The button "Show" beside the webhook URL. */
(() => {
	const field = document.getElementById('headland_url');
	const button = document.getElementById('headland_show');
	if (!field || !button) return;
	button.addEventListener('click', () => {
		const isShown = field.type === 'text';
		field.type = isShown ? 'password' : 'text';
		button.setAttribute('aria-pressed', String(!isShown));
	});
})();
