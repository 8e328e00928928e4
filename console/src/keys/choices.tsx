// What a new account key or a session of the portal may do: cards of which one or several are chosen, and a switch.
import { Text } from '@mantine/core'
import { type ComponentProps, type ReactNode, useId } from 'react'
import { cx } from '../ui/cx.ts'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'
import classes from './keys.module.css'

interface ChoiceCardProps extends Omit<ComponentProps<'input'>, 'type' | 'className'> {
  readonly label: string
  readonly description: string
}

export function ChoiceCard({ label, description, ...input }: ChoiceCardProps) {
  return <Card type="radio" label={label} description={description} {...input} />
}

export function CheckCard({ label, description, ...input }: ChoiceCardProps) {
  return <Card type="checkbox" label={label} description={description} {...input} />
}

interface RevealSwitchProps {
  readonly isOn: boolean
  /** Why it cannot be switched on. */
  readonly refusal: string | undefined
  readonly onChange: (isOn: boolean) => void
}

export function RevealSwitch({ isOn, refusal, onChange }: RevealSwitchProps) {
  return (
    <Card
      type="checkbox"
      role="switch"
      label="Shows credentials"
      description={
        refusal ?? 'Without this, only the last four characters; a new credential is shown once, to whoever makes it'
      }
      disabled={refusal !== undefined}
      checked={isOn}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  )
}

interface CardProps extends ComponentProps<'input'> {
  readonly label: string
  readonly description: ReactNode
}

/** The input is named by its label alone; the rest is read out after it. */
function Card({ label, description, ...input }: CardProps) {
  const id = useId()
  return (
    <label className={cx(surface.choice, classes.card)}>
      <input {...input} aria-labelledby={`${id}-label`} aria-describedby={`${id}-description`} />
      <span className={text.twoLines}>
        <Text span inherit fw={500} id={`${id}-label`}>
          {label}
        </Text>
        <span id={`${id}-description`} className={cx(text.dim, text.small)}>
          {description}
        </span>
      </span>
    </label>
  )
}
