// The style sheets of components that the first views have and the sign-in has not, in Mantine's order.
import '@mantine/core/styles/DataList.css'
import '@mantine/core/styles/EmptyState.css'
import '@mantine/core/styles/Kbd.css'
import '@mantine/core/styles/Notification.css'
import '@mantine/core/styles/Skeleton.css'
import '@mantine/notifications/styles.css'
