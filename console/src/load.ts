// The views that are loaded when they are first needed, or when the address says that they will be.
export const loadTokens = () => import('./tokens/tokens-view.tsx')
export const loadLater = async () => (await import('./later-views.ts')).laterViews
