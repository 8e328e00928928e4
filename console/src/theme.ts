// Colours and type. Shades are chosen for contrast: text on them, and they as text, pass WCAG AA in both schemes.
import { type CSSVariablesResolver, createTheme } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '650' },
  colors: {
    dark: [
      '#e3e5e8',
      '#a9afb8',
      '#8d939c',
      '#5f656e',
      '#4a4e56',
      '#33363d',
      '#26282e',
      '#1f2126',
      '#17181c',
      '#101114',
    ],
  },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // The scroll lock of these would write an inline style; global.css locks the page instead.
    Modal: { defaultProps: { lockScroll: false, centered: true, transitionProps: { duration: 120 } } },
    // What is wrong with a field is read out as it appears.
    InputError: { defaultProps: { role: 'alert' } },
    Drawer: { defaultProps: { lockScroll: false, transitionProps: { duration: 120 } } },
  },
})

/** The console's own colours, and corrections of Mantine's: its greys for secondary text have too little contrast. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--color-page': '#f6f7f9',
    '--color-surface': '#fff',
    '--color-line': '#dee2e6',
    '--color-selected': '#edf2ff',
    '--color-hover': '#f8f9fb',
    '--color-accent': '#4263eb',
    '--color-focus': '#364fc7',
    '--color-warning': '#994c00',
    '--color-warning-surface': '#fff4e0',
    '--color-active': '#2b8a3e',
    '--color-inactive': '#adb5bd',
    '--color-expired': '#e8890c',
    '--color-suspended': '#994c00',
    '--mantine-color-body': '#fff',
    '--mantine-color-text': '#1c1f24',
    '--mantine-color-dimmed': '#545b64',
    '--mantine-color-placeholder': '#656d76',
    '--mantine-color-error': '#c92a2a',
  },
  dark: {
    '--color-page': '#17181c',
    '--color-surface': '#1f2126',
    '--color-line': '#373a40',
    '--color-selected': '#262d4a',
    '--color-hover': '#25272d',
    '--color-accent': '#748ffc',
    '--color-focus': '#91a7ff',
    '--color-warning': '#ffc078',
    '--color-warning-surface': '#3d2f1a',
    '--color-active': '#51cf66',
    '--color-inactive': '#5c5f66',
    '--color-expired': '#ffc078',
    '--color-suspended': '#e8590c',
    '--mantine-color-body': '#1f2126',
    '--mantine-color-dimmed': '#a9afb8',
    '--mantine-color-placeholder': '#9aa1ab',
    '--mantine-color-error': '#ff8787',
  },
})
