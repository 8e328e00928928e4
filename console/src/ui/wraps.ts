/** Styles of a button whose label may be wider than the screen of a telephone. */
export const WRAPS = {
  root: { height: 'auto', minHeight: 36, paddingBlock: 6 },
  label: { whiteSpace: 'normal' },
} as const
